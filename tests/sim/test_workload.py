"""The world of a schedule: small enough that interests meet, and drawn from the seed alone."""

from __future__ import annotations

import random

from reknit.sim.workload import World


def test_the_seed_decides() -> None:
    one, other = (World(random.Random(4), 0.5) for _ in range(2))
    assert one.patterns == other.patterns
    assert [one.event() for _ in range(50)] == [other.event() for _ in range(50)]


def test_interests_meet_and_miss() -> None:
    worlds = [World(random.Random(seed), 0.8) for seed in range(20)]
    pairs = [each.matches(world.event()) for world in worlds for each in world.patterns for _ in range(10)]
    assert 0.1 < sum(pairs) / len(pairs) < 0.9


def test_content_is_the_share_of_selectors() -> None:
    assert not any(each.selector for seed in range(20) for each in World(random.Random(seed), 0.0).patterns)
    assert all(each.selector for seed in range(20) for each in World(random.Random(seed), 1.0).patterns)
