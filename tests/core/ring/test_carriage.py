"""Events on a ring: by way of the root, and on other ways when one is gone."""

from __future__ import annotations

import random

import pytest

from reknit.model.ring import ring_id
from reknit.planning.trees import way_up
from reknit.trace.records import Kind
from tests.core.ring.circles import Ring, grown


def ids(ring: Ring) -> dict[str, int]:
    return {name: ring.broker(name).ring.me[0] for name in ring.nodes if ring.is_alive(name)}


def root(ring: Ring, topic: str) -> str:
    return way_up(ids(ring), "b1", topic)[-1]


def test_an_event_crosses_the_way_to_the_root_and_the_tree_only() -> None:
    ring = grown(5)
    ring.wants("b3", "c", "t")
    ring.run(12.0)
    before = ring.count(Kind.FORWARDED)
    ring.says("b5", "t", "x")
    ring.run(1.0)
    up = way_up(ids(ring), "b5", "t")
    down = sum(len(hops) for name in ids(ring) for hops in [ring.broker(name).ring.plane.member.trees.children("t")])
    assert ring.count(Kind.FORWARDED) - before == len(up) - 1 + down
    assert ring.had("c") == ["x"]


@pytest.mark.parametrize("topic", ["t", "u", "v"])
def test_what_a_root_that_dies_for_good_has_not_settled_goes_to_the_next_one(topic: str) -> None:
    ring = grown(5)
    other = next(name for name in ids(ring) if name != root(ring, topic))
    ring.wants(other, "c", topic)
    ring.run(12.0)
    dead = root(ring, topic)
    ring.lose(dead)
    for number in range(5):
        ring.says(other, topic, str(number))
        ring.run(1.0)
    ring.run(30.0)
    assert ring.had("c") == ["0", "1", "2", "3", "4"]
    assert root(ring, topic) != dead


def test_a_root_that_has_just_come_waits_until_it_knows_who_wants_the_topic() -> None:
    ring = grown(3)
    topic = next(f"t{number}" for number in range(500) if _would_own(ring, "n1", f"t{number}"))
    ring.wants("b2", "c", topic)
    ring.run(12.0)
    ring.come("n1", "b1")
    for number in range(40):
        ring.says("b3", topic, str(number))
        ring.run(0.05)
    ring.run(12.0)
    assert root(ring, topic) == "n1"
    assert ring.had("c") == [str(number) for number in range(40)]


def _would_own(ring: Ring, name: str, topic: str) -> bool:
    return way_up(ids(ring) | {name: ring_id(name)}, "b1", topic)[-1] == name


def test_while_nobody_is_known_events_wait_within_a_bound() -> None:
    ring = Ring()
    ring.options = ring.options.__class__(routing="rendezvous", observe=True, held_events_max=2)
    ring.add_node("b9")
    ring.come("b1", "b9")
    for number in range(3):
        ring.says("b1", "t", str(number))
    carriage = ring.broker("b1").ring.carriage
    assert (carriage.at_rest, carriage.dropped) == (False, 1)
    ring.run(25.0)  # it is alone by then, and its own root
    assert carriage.at_rest
    assert ring.count(Kind.SETTLED) == 3


@pytest.mark.parametrize("seed", [4, 6, 20, 27, 29, 36])
def test_nothing_is_lost_that_is_published_while_brokers_that_begin_at_once_become_one_ring(seed: int) -> None:
    """To whom the topic's tree leads gets it, once and in its order."""
    rng, ring = random.Random(seed), Ring(seed=str(seed))
    names = [f"b{number}" for number in range(1, 8)]
    for number, name in enumerate(names):
        ring.add_node(name)
        ring.nodes[name].neighbours = {each: each for each in names[: min(number, 2)]}
    for name in names:
        ring.kernel.after(rng.uniform(0.0, 0.3), ring.start, name)
    ring.run(0.31)
    for name in names[::2]:
        ring.wants(name, f"{name}-c", "t")
    owed: dict[str, list[str]] = {name: [] for name in names[::2]}
    for number in range(60):
        ring.run(rng.uniform(0.0, 0.1))
        for name, events in owed.items():
            events += [str(number)] if ring.broker(name).ring.shows("t") else []
        ring.says("b3", "t", str(number))
    ring.run(30.0)
    for name, events in owed.items():
        had = ring.had(f"{name}-c")
        assert had == sorted(set(had), key=int)
        assert set(events) - set(had) == set()


def test_no_event_overtakes_one_of_its_source_and_topic_that_waits() -> None:
    ring = grown(3)
    topic = next(f"t{number}" for number in range(100) if root(ring, f"t{number}") == "b2")
    ring.wants("b1", "c", topic)
    ring.run(1.0)
    domain = ring.broker("b2").ring.plane.member.domain
    known, domain.known = domain.known, None
    ring.says("b3", topic, "first")
    ring.run(0.2)
    domain.known = known
    ring.says("b3", topic, "second")
    ring.run(1.0)
    assert ring.had("c") == ["first", "second"]
