"""Brokers and peers together in virtual time: each event comes to each who wants it once, whoever dies."""

from __future__ import annotations

from typing import Any

import pytest

from reknit.community.hierarchy import Hierarchy, filter_of
from reknit.community.io import Deliver
from reknit.community.options import PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.core.broker import BrokerOptions
from reknit.gateway import gateway as gateway_module
from reknit.gateway.gateway import Gateway
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.crossing import check_crossing
from reknit.sim.checkers.parasites import check_parasites
from reknit.sim.junction import Junction
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind

EDGES = [("b1", "b2"), ("b2", "b3")]
GATEWAYS = {"b1": ("soccer",), "b3": ("soccer/italy", "tennis")}
PEERS = {"p1": "soccer", "p2": "soccer/italy", "p3": "soccer/italy", "p4": "tennis", "p5": "soccer/france", "p6": "#"}
CLIENTS = {"ann": ("b2", "soccer/#"), "bob": ("b3", "#"), "cy": ("b1", "tennis/+")}
HEAL_S = 40.0
"""Two leases and a half: until views of three members are what they should be, when one that all knew has died."""
TOPIC = TopicOptions(
    g=50.0,
    a=3.0,
    publisher_forces_upward=True,
    scamp=ScampOptions(lease_s=16.0, heartbeat_s=1.5, walk_hops=2, reunion_s=4.0),
    supers=SuperOptions(check_s=2.0, answer_s=0.6, search_s=0.5, search_s_max=2.0),
)


def a_junction() -> Junction:
    peers = PeerOptions(topic=TOPIC, observe=True, pending_s_max=1.0)
    junction = Junction(EDGES, GATEWAYS, BrokerOptions(observe=True), peers, NetworkOptions(latency_s_max=0.02), "1")
    for client, (broker, topic) in CLIENTS.items():
        junction.cluster.attach(broker, client, [Pattern(topic)])
    for peer, topic in PEERS.items():
        junction.assembly.start(peer, (junction.address("b1"),))
        junction.assembly.join(peer, topic)
        junction.run(0.3)
    junction.run(20.0)
    return junction


def publish_on_both_sides(junction: Junction) -> None:
    for topic in ("soccer", "soccer/italy", "soccer/france", "tennis", "chess"):
        junction.cluster.publish("b2", "ann", Event(topic, b"from brokers"))
        junction.run(0.2)
    for peer, topic in (("p1", "soccer"), ("p2", "soccer/italy"), ("p4", "tennis"), ("p5", "soccer/france")):
        junction.assembly.publish(peer, topic, b"from peers")
        junction.run(0.2)
    junction.run(4.0)


def judged(junction: Junction, missing: bool = True) -> list[str]:
    records = junction.records()
    hierarchy = Hierarchy({})
    parasites = check_parasites(
        junction.assembly.records, lambda topic: tuple(map(filter_of, hierarchy.ladder(topic))), late_s_max=0.0
    )
    found = [violation.what for violation in (*check_crossing(records), *parasites)]
    return [each for each in found if missing or "never got" not in each]


def test_each_event_comes_to_each_who_wants_it_once() -> None:
    junction = a_junction()
    junction.calm()
    publish_on_both_sides(junction)
    # Chess is of no gateway, so it stays where it is; bob has it, and the peer that wants everything has not.
    assert judged(junction) == ["p6 never got b2.1/5 of chess"]
    counts = {name: gateway.counters for name, gateway in junction.gateways.items()}
    assert counts["b1"]["to_brokers"] == 3
    assert counts["b3"]["to_brokers"] == 1, "tennis is b3's alone"
    assert counts["b3"]["left_to_others"] == 1, "both have what is of soccer/italy"


def test_when_the_one_that_passes_events_on_dies_another_does() -> None:
    junction = a_junction()
    junction.crash("b1")
    junction.run(HEAL_S)
    junction.assembly.publish("p2", "soccer/italy", b"after")
    junction.run(2.0)
    got = [
        record.client
        for record in junction.cluster.records
        if record.kind is Kind.DELIVERED and record.event is not None and record.event.payload == b"after"
    ]
    assert sorted(each for each in got if not each.startswith("$")) == ["ann", "bob"]
    assert judged(junction, missing=False) == []


def _forget_the_others(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Gateway, "who_passes", lambda self, topic, now: self.name)


def _forget_the_way(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gateway_module, "_through", lambda event: [])


def _publish_where_it_is_a_member(patch: pytest.MonkeyPatch) -> None:
    original = Gateway._marked

    def marked(self: Gateway, event: Event, side: str) -> Any:
        found = original(self, event, side)
        if side == self.options.brokers:
            found.topic = self.options.topics[-1]
        return found

    patch.setattr(Gateway, "_marked", marked)


@pytest.mark.parametrize("bug", [_forget_the_others, _forget_the_way, _publish_where_it_is_a_member])
def test_a_planted_bug_is_found(bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    junction = a_junction()
    junction.calm()
    publish_on_both_sides(junction)
    assert len(judged(junction)) > 1


def test_a_burst_of_more_topics_than_it_publishes_in_loses_nothing() -> None:
    """Each is a community that the gateway becomes a member of; most make room before anybody of theirs was found."""
    junction = a_junction()
    got: dict[str, list[str]] = {}
    crossing = junction.assembly.delivered
    assert crossing is not None

    def delivered(peer: str, deliver: Deliver) -> None:
        got.setdefault(peer, []).append(deliver.event.topic)
        crossing(peer, deliver)

    junction.assembly.delivered = delivered
    topics = [f"soccer/{number}" for number in range(100)]
    for topic in topics:
        junction.cluster.publish("b2", "ann", Event(topic))
    junction.run(10.0)
    assert sorted(got["p1"]) == sorted(got["p6"]) == sorted(topics)
    assert junction.assembly.peer(junction.address("b1")).counters["hurried"] > 0
