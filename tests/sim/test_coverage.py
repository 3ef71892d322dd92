"""What a campaign has gone through: from records to names, and what is still missing."""

from __future__ import annotations

import pytest

from reknit.sim.coverage import (
    NOTIFIED,
    POINTS_OF_PLACES,
    REPLACEMENTS,
    changes,
    crash_points,
    expected,
    expected_on_ring,
    missing,
)
from reknit.trace.records import Kind, Record


def _steps(*details: str, node: str = "b1") -> list[Record]:
    return [Record(float(at), node, Kind.CHANGE, detail=detail) for at, detail in enumerate(details)]


def _crashes(*details: str) -> list[str]:
    found = changes([*_steps(*details), Record(99.0, "b1", Kind.CRASHED)])
    return [name for name in found if name.startswith("crash in")]


@pytest.mark.parametrize("strategy", ["path", "path-batched", "deferred", "strawman"])
def test_a_crash_long_after_a_replacement_is_none_in_it(strategy: str) -> None:
    steps = [f"{strategy}: lock at the first", f"{strategy}: Prepared at the first"]
    assert _crashes(*steps) == [f"crash in a {strategy}: after Prepared at the first"]
    assert _crashes(*steps, f"{strategy}: end at the first") == []


def test_what_comes_when_a_broker_is_not_locked_any_more_or_not_yet_does_not_count_as_taking_part() -> None:
    assert _crashes("path: Prepare at the tail") == []
    assert _crashes("path: lock at the tail", "path: end at the tail", "path: Rec at the tail") == []


def test_a_swap_ends_otherwise() -> None:
    assert _crashes("swap: end at the middle") == ["crash in a swap: after end at the middle"]
    assert _crashes("swap: end at the goal") == []


def test_a_deferred_removal_is_counted_by_how_it_is_made_up_for() -> None:
    records = _steps("deferred: lock at the last")
    assert list(changes(records)) == ["step of a deferred: lock at the last"]
    assert list(changes(records, notified=True)) == ["step of a notified deferred: lock at the last"]


def test_each_word_of_each_strategy_is_expected_and_what_ends_a_change_is_no_crash_point() -> None:
    names = expected(crashing=True)
    assert len(set(names)) == len(names)
    for kind in REPLACEMENTS:
        assert f"step of a {kind}: Prepared at the far end" in names
        assert f"crash in a {kind}: after lock at the first" in names
        assert "Done at the first" not in crash_points(kind)
    assert "crash in a path-batched: after AskHeld at the near end" in names
    assert "Flush at the far end" not in crash_points("path")
    assert f"step of a {NOTIFIED}: Flush at the tail" in names
    assert not [name for name in expected(crashing=False) if name.startswith("crash")]


def test_what_was_not_seen_is_missing() -> None:
    seen = dict.fromkeys(expected(crashing=True), 1)
    assert missing(seen, expected(crashing=True)) == []
    seen["crash in a path: after Rec at the tail"] = 0
    del seen["step of a swap: swap at the goal"]
    assert missing(seen, expected(crashing=True)) == [
        "step of a swap: swap at the goal",
        "crash in a path: after Rec at the tail",
    ]


def test_the_manager_of_a_change_of_places_takes_part_twice() -> None:
    """As who leads it, and as any broker; in both a crash is one of its own."""
    steps = ("PUBSUB at the manager", "RCFG_PUBSUB", "RCFG_PUBSUB 3.2")
    records = [Record(1.0, "b1", Kind.CHANGE, detail=f"places: {step}") for step in steps]
    found = changes([*records, Record(2.0, "b1", Kind.CRASHED)])
    assert found["crash in a places: after PUBSUB at the manager"] == 1
    assert found["crash in a places: after RCFG_PUBSUB 3.2"] == 1
    assert set(found) <= set(expected_on_ring())


def test_steps_of_places_are_counted_without_what_varies() -> None:
    details = ("dismissed: b1 was lost in step INIT", "dismissed: b2: b2 is on no ring", "caught up with version 7")
    found = changes(Record(1.0, "b1", Kind.CHANGE, detail=f"places: {each}") for each in details)
    assert found == {"step of a places: dismissed": 2, "step of a places: caught up": 1}


def test_each_step_of_the_four_has_a_crash_of_the_manager_and_of_a_broker() -> None:
    points = [f"{step} at the manager" for step in ("INIT", "OVERLAY", "PUBSUB", "FINISH")]
    points += [f"RCFG_{step}" for step in ("INIT", "OVERLAY", "PUBSUB", "PUBSUB 3.2")]
    assert list(POINTS_OF_PLACES) == points
