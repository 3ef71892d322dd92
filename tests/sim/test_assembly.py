"""Many peers in virtual time."""

from __future__ import annotations

import pytest

from reknit.community.options import PeerOptions, TopicOptions
from reknit.sim.assembly import Assembly, Runaway
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind


def a_pair(seed: str = "1", steps_max: float = float("inf"), loss: float = 0.1) -> Assembly:
    assembly = Assembly(PeerOptions(observe=True), NetworkOptions(loss=loss), seed, steps_max)
    for peer in ("a", "b"):
        assembly.start(peer, ("a",) if peer == "b" else ())
        assembly.join(peer, "soccer")
    return assembly


def test_two_peers_find_each_other_and_events_flow_both_ways() -> None:
    assembly = a_pair(loss=0.0)  # two have one datagram for an event, and nobody else to hear it from
    got = []
    assembly.delivered = lambda peer, deliver: got.append((peer, deliver.event.payload))
    assembly.run(10.0)
    assembly.publish("a", "soccer", b"1")
    assembly.publish("b", "soccer/italy", b"2")
    assembly.run(10.0)
    assert ("b", b"1") in got
    assert ("a", b"2") in got


def test_one_that_has_crashed_is_gone_and_another_life_begins_with_nothing() -> None:
    assembly = a_pair()
    assembly.run(5.0)
    assembly.crash("b")
    assembly.crash("b")
    with pytest.raises(KeyError):
        assembly.peer("b")
    assert assembly.alive() == ["a"]
    assembly.run(1.0)
    assert assembly.start("b").communities == {}
    assert assembly.peer("b").source == "b.2"
    assert [record.kind for record in assembly.records if record.node == "b"].count(Kind.CRASHED) == 1


def test_the_same_seed_gives_the_same_run() -> None:
    runs = []
    for seed in ("1", "1", "2"):
        assembly = a_pair(seed)
        assembly.run(30.0)
        assembly.publish("a", "soccer")
        assembly.run(5.0)
        runs.append((assembly.records, assembly.network.traffic))
    assert runs[0] == runs[1] != runs[2]


def test_what_never_comes_to_rest_is_ended() -> None:
    assembly = a_pair(steps_max=20)
    with pytest.raises(Runaway):
        assembly.run(1_000.0)


def test_a_peer_may_have_options_of_its_own() -> None:
    assembly = Assembly(PeerOptions(), NetworkOptions(), "1")
    peer = assembly.start("a", options=PeerOptions(topic=TopicOptions(c=9.0)))
    assert peer.options.topic.c == 9.0
