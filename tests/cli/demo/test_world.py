"""The cast is what the seed says, and an event is known again by its payload."""

from __future__ import annotations

import random

import pytest

from reknit.cli._demo.world import Kind, Mark, Role, Wish, World, cast, mark_of, middle

BROKERS = ["b1", "b2", "b3", "b4", "b5"]


def test_twenty_clients_of_three_kinds_half_of_them_publish() -> None:
    roles = cast(BROKERS, 4, random.Random(1), mosquitto_at="b5")
    assert len({role.name for role in roles}) == 20
    assert [sum(role.kind is kind for role in roles) for kind in Kind] == [10, 9, 1]
    assert sum(role.publishes for role in roles) == 10
    assert not any(role.publishes for role in roles if role.kind is Kind.MOSQUITTO)
    assert roles == cast(BROKERS, 4, random.Random(1), mosquitto_at="b5")
    assert roles != cast(BROKERS, 4, random.Random(2), mosquitto_at="b5")


def test_plain_clients_ask_for_topics_only_since_they_cannot_ask_for_more() -> None:
    for role in cast(BROKERS, 4, random.Random(3)):
        assert bool(role.wish.selector) is (role.kind is not Kind.PLAIN)
        assert all("{" not in pattern.topic for pattern in role.wish.patterns)


@pytest.mark.parametrize("kind", [Kind.PYTHON, Kind.PLAIN])
def test_an_event_is_known_again_and_has_its_attributes(kind: Kind) -> None:
    mark = Mark("c07", 2, 15)
    role = Role("c07", "b2", "lima", kind, Wish(("t",)), publishes=True)
    event = World(random.Random(4)).event(role, mark)
    assert mark_of(event.payload) == mark
    assert {"severity", "region", "text"} <= set(event.view())


@pytest.mark.parametrize(
    ("edges", "name"),
    [
        ([("b1", "b2"), ("b2", "b3")], "b2"),
        ([("b1", "b2"), ("b2", "b3"), ("b3", "b4"), ("b4", "b5")], "b3"),
        ([("b1", "b2"), ("b1", "b3"), ("b1", "b4")], "b1"),
    ],
)
def test_the_broker_in_the_middle(edges: list[tuple[str, str]], name: str) -> None:
    assert middle(edges) == name
