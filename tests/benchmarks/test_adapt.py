"""What the trial of ``adapt`` looks for, it finds."""

from __future__ import annotations

from typing import Any

from bench.adapt import SIDES, Watched

LINE = frozenset({("b1", "b2"), ("b2", "b3")})


def seen(*steps: list[list[str]]) -> Watched:
    periods: list[dict[str, Any]] = [{"period": number, "steps": each} for number, each in enumerate(steps, 1)]
    return Watched(LINE, periods)


def test_changes_that_come_too_soon_are_counted() -> None:
    there, further = [["b1", "b2", "b3"]], [["b2", "b3", "b1"]]
    assert seen([], there, [], [], further).too_soon(rest=2) == 0
    assert seen([], there, [], further).too_soon(rest=2) == 1
    assert seen([], there, further, []).too_soon(rest=2) == 1
    assert seen([], []).too_soon(rest=2) == 0


def test_a_link_that_is_taken_up_again_is_found() -> None:
    there, back = [["b1", "b2", "b3"]], [["b1", "b3", "b2"]]
    assert seen(there).taken_again() == 0
    assert seen(there, back).taken_again() == 1
    assert seen([*there, *back]).taken_again() == 0  # within one change nothing was given up
    assert seen(there, [["b2", "b3", "b1"]]).taken_again() == 1


def test_everybody_has_a_friend_on_each_side() -> None:
    for side in SIDES:
        assert sorted(broker for pair in side for broker in pair) == [f"b{number}" for number in range(1, 7)]
    assert not set(SIDES[0]) & set(SIDES[1])
