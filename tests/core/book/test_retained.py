"""Retained events are known to every broker, whatever happens to links and brokers meanwhile."""

from __future__ import annotations

import random

import pytest

from reknit.core.options import BrokerOptions
from reknit.core.overlay.change import find_change
from reknit.core.overlay.shapes import names, shape_edges
from reknit.model.event import Envelope, Event
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.sim.operator import STRATEGIES, Operator

KEEP = Envelope(retain=True)


def network(seed: int, brokers: int = 5) -> Cluster:
    edges = shape_edges("random", names(brokers), random.Random(seed))
    cluster = Cluster(edges, BrokerOptions(founded=True), NetworkOptions(), str(seed))
    cluster.start_all()
    for name in names(brokers):
        cluster.attach(name, f"c-{name}", [])
    assert cluster.settle(30.0)
    return cluster


def kept(cluster: Cluster) -> list[dict[str, bytes]]:
    """By broker, what its clients would be given."""
    return [
        {topic: event.payload for topic, event in sorted(node.retained.items()) if event.payload}
        for node in cluster.nodes.values()
        if node.broker is not None
    ]


def say(cluster: Cluster, broker: str, topic: str, payload: bytes) -> None:
    cluster.publish(broker, f"c-{broker}", Event(topic, payload, envelope=KEEP))


def test_an_event_is_kept_everywhere_and_forgotten_everywhere() -> None:
    cluster = network(1)
    say(cluster, "b1", "a", b"1")
    say(cluster, "b5", "b", b"2")
    assert cluster.settle(30.0)
    assert kept(cluster) == [{"a": b"1", "b": b"2"}] * 5
    say(cluster, "b3", "a", b"")
    say(cluster, "b2", "b", b"3")
    assert cluster.settle(30.0)
    assert kept(cluster) == [{"b": b"3"}] * 5


def test_a_broker_without_memory_and_a_new_one_are_told() -> None:
    cluster = network(2)
    say(cluster, "b1", "a", b"1")
    assert cluster.settle(30.0)
    cluster.crash("b3")
    say(cluster, "b2", "b", b"2")
    cluster.kernel.run(until=cluster.kernel.now + 1.0)
    cluster.start("b3")
    cluster.add_node("b6")
    cluster.start("b6")
    cluster.add_link("b6", "b1")
    assert cluster.settle(60.0)
    assert kept(cluster) == [{"a": b"1", "b": b"2"}] * 6


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_link_that_replaces_a_lost_one_tells_what_was_said_meanwhile(strategy: str) -> None:
    edges = [("b1", "b2"), ("b2", "b3"), ("b3", "b4")]
    cluster = Cluster(edges, BrokerOptions(founded=True), NetworkOptions(), "1")
    cluster.start_all()
    for name in names(4):
        cluster.attach(name, f"c-{name}", [])
    assert cluster.settle(30.0)
    change = find_change(edges, strategy, ("b2", "b3"), ("b1", "b4"))
    assert change is not None
    cluster.vanish(change)
    say(cluster, "b2", "a", b"1")
    say(cluster, "b3", "b", b"2")
    cluster.kernel.run(until=cluster.kernel.now + 0.5)
    cluster.appear(change)
    cluster.substitute(change)
    assert cluster.settle(60.0)
    assert kept(cluster) == [{"a": b"1", "b": b"2"}] * 4


@pytest.mark.parametrize("seed", range(12))
def test_links_that_are_replaced_lose_no_word(seed: int) -> None:
    rng = random.Random(seed)
    cluster = network(seed)
    operator = Operator(cluster, rng)
    for _ in range(30):
        if rng.random() < 0.3:
            operator.replace()
        else:
            say(cluster, rng.choice(names(5)), f"t/{rng.randrange(4)}", rng.choice([b"", b"1", b"2"]))
        cluster.kernel.run(until=cluster.kernel.now + rng.uniform(0.0, 0.2))
    assert cluster.settle(120.0)
    found = kept(cluster)
    assert found == [found[0]] * 5


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_all_keep_the_same_in_the_end(seed: int) -> None:
    rng = random.Random(seed)
    cluster = network(seed)
    for _ in range(30):
        name = rng.choice(names(5))
        match rng.randrange(6):
            case 0 if cluster.is_alive(name):
                cluster.crash(name)
                cluster.kernel.after(rng.uniform(0.1, 1.0), cluster.start, name)
            case 1 | 2:
                edges = [(a, b) for a in cluster.nodes for b in _neighbours(cluster, a)]
                swaps = [(a, b, c) for a, b in edges for c in _neighbours(cluster, b) if c != a]
                if swaps:
                    cluster.swap(*rng.choice(swaps))
            case _ if cluster.is_alive(name):
                cluster.attach(name, f"c-{name}", [])
                say(cluster, name, f"t/{rng.randrange(4)}", rng.choice([b"", b"1", b"2"]))
        cluster.kernel.run(until=cluster.kernel.now + rng.uniform(0.0, 0.2))
    assert cluster.settle(120.0)
    found = kept(cluster)
    assert all(each == found[0] for each in found)
    assert len(found) == 5


def _neighbours(cluster: Cluster, name: str) -> list[str]:
    broker = cluster.nodes[name].broker
    return broker.overlay.neighbours() if broker is not None else []
