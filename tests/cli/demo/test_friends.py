"""The cast of the loop: far from each other, and unequal."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from reknit.cli._demo.friends import Friends, friends, line, shares
from reknit.cli._demo.shape import EDITS
from reknit.cli._demo.world import Mark
from reknit.core.overlay.shapes import find_path, names

KNOWN = names(8)


def test_friends_are_half_the_line_apart() -> None:
    roles = friends(KNOWN)
    homes: dict[str, dict[str, None]] = {}
    for role in roles:
        homes.setdefault(role.home, {})[role.broker] = None
    assert len(homes) == 4
    assert all(len(find_path(line(8), *brokers)) == 5 for brokers in homes.values())


def test_the_first_rooms_say_most_and_all_events_are_shared_out() -> None:
    due = shares(friends(KNOWN), 1000, random.Random(1))
    assert sum(due.values()) == 1000
    assert due["s-b1"] > due["s-b2"] > due["s-b4"] > 0


def test_topics_are_as_unequal_as_the_shape_says() -> None:
    """All its topics are talked about, each in one room, and the first most."""
    roles = friends(KNOWN)
    world = Friends(random.Random(5), [role.home for role in roles])
    rng = random.Random(2)
    due = shares(roles, 20_000, rng)
    said = Counter(
        world.event(role, Mark(role.name, 1, number)).topic for role in roles for number in range(due.get(role.name, 0))
    )
    assert len(said) > 45
    assert sorted(int(topic.rpartition("/")[2]) for topic in said)[:4] == [1, 2, 3, 4]
    first = EDITS.weights[0] / sum(EDITS.weights)
    assert said["room/1/1"] / 20_000 == pytest.approx(first, rel=0.15)


def test_what_is_said_is_wanted_by_the_others_of_the_room() -> None:
    roles = friends(KNOWN)
    world = Friends(random.Random(3), [role.home for role in roles])
    said = [world.event(roles[0], Mark("s-b1", 1, number)) for number in range(200)]
    listener = next(role for role in roles if role.name == "l-b5")
    wanted = sum(1 for event in said if any(pattern.matches(event) for pattern in listener.wish.patterns))
    assert 150 < wanted < 200
