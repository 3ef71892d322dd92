"""Who leaves a cache first (EPIDEMIC, section 5)."""

from __future__ import annotations

import random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.core.recovery.policies import Policy, PolicyName, make_policy
from reknit.model.event import EventId

NAMES: tuple[PolicyName, ...] = get_args(PolicyName)


def _policy(name: PolicyName, seed: int = 1) -> Policy[EventId]:
    return make_policy(name, random.Random(seed))


comings = st.lists(st.booleans(), min_size=1)


@pytest.mark.parametrize("name", NAMES)
@given(comings)
def test_whoever_came_leaves_once(name: PolicyName, own: list[bool]) -> None:
    policy = _policy(name)
    for place, each in enumerate(own):
        policy.came(("s", place), each)
    assert sorted(policy) == [("s", place) for place in range(len(own))]
    assert sorted(policy.leave() for _ in own) == [("s", place) for place in range(len(own))]


def test_only_own_events_are_admitted_by_own() -> None:
    for name in NAMES:
        policy = _policy(name)
        assert policy.takes_strangers == (name != "own")


@pytest.mark.parametrize("name", ["own", "en-route"])
def test_the_oldest_leaves_first(name: PolicyName) -> None:
    policy = _policy(name)
    for place in range(5):
        policy.came(("s", place), own=True)
    assert [policy.leave()[1] for _ in range(5)] == [0, 1, 2, 3, 4]


def test_strangers_leave_before_own_ones() -> None:
    policy = _policy("strangers-first")
    for place in range(6):
        policy.came(("s", place), own=place % 2 == 0)
    assert [policy.leave()[1] for _ in range(6)] == [1, 3, 5, 0, 2, 4]


def test_chance_decides_and_two_caches_decide_differently() -> None:
    left = []
    for seed in (1, 2):
        policy = _policy("probabilistic", seed)
        for place in range(50):
            policy.came(("s", place), own=True)
        left.append([policy.leave()[1] for _ in range(50)])
    assert left[0] != left[1]
    assert left[0] != sorted(left[0])
