"""What a campaign has gone through: from records to names, and what is still missing."""

from __future__ import annotations

import pytest

from reknit.sim.coverage import (
    FAULTS,
    NOTIFIED,
    POINTS_OF_PLACES,
    REPLACEMENTS,
    changes,
    crash_points,
    expected,
    expected_on_ring,
    missing,
    points,
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


def _faults(*records: Record) -> list[str]:
    return [name for name in changes(records) if not name.startswith("step of")]


def _step(time: float, node: str, detail: str, peer: str = "") -> Record:
    return Record(time, node, Kind.CHANGE, peer=peer, detail=detail)


def test_who_is_paused_goes_on_and_may_be_paused_again() -> None:
    pauses = [Record(at, "b1", Kind.PAUSED) for at in (2.0, 4.0)]
    steps = [_step(1.0, "b1", "swap: lock at the middle"), _step(3.0, "b1", "swap: swap at the middle")]
    found = changes([steps[0], pauses[0], steps[1], pauses[1], Record(5.0, "b1", Kind.CRASHED), pauses[1]])
    assert {name: count for name, count in found.items() if not name.startswith("step of")} == {
        "pause in a swap: after lock at the middle": 1,
        "pause in a swap: after swap at the middle": 1,
        "crash in a swap: after swap at the middle": 1,
    }


def test_a_cut_counts_where_the_other_takes_part_too() -> None:
    lock = _step(1.0, "b1", "swap: lock at the goal", peer="b2")
    assert _faults(lock, Record(2.0, "b1", Kind.CUT, peer="b2")) == ["cut in a swap: after lock at the goal"]
    assert _faults(lock, Record(2.0, "b1", Kind.CUT, peer="b3")) == []
    mover = _step(1.5, "b3", "swap: lockAck at the mover", peer="b2")  # the goal has not heard from it yet
    assert _faults(lock, mover, Record(2.0, "b1", Kind.CUT, peer="b3")) == ["cut in a swap: after lock at the goal"]


def test_with_whom_a_change_before_had_to_do_is_no_matter() -> None:
    steps = [
        _step(1.0, "b1", "drain: told at the heir", peer="b2"),
        _step(2.0, "b1", "drain: left at the heir", peer="b2"),
        _step(3.0, "b1", "drain: draining at the heir", peer="b3"),
    ]
    assert _faults(*steps, Record(4.0, "b1", Kind.CUT, peer="b2")) == []


def test_in_the_moment_of_the_last_step_its_words_are_still_under_way() -> None:
    last = _step(1.0, "b1", "add: connect at the neighbour", peer="n1")
    assert _faults(last, Record(1.0, "b1", Kind.CRASHED)) == ["crash in an add: after connect at the neighbour"]
    assert _faults(last, Record(1.1, "b1", Kind.CRASHED)) == []


def test_messages_of_one_moment_are_struck_together() -> None:
    steps = [_step(1.0, "b1", f"swap: {what} at the middle") for what in ("close(ab)", "end")]
    assert _faults(*steps, Record(1.0, "b1", Kind.PAUSED)) == [
        "pause in a swap: after close(ab) at the middle",
        "pause in a swap: after end at the middle",
    ]
    assert _faults(*steps, Record(1.1, "b1", Kind.PAUSED)) == ["pause in a swap: after end at the middle"]


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


def test_in_each_step_of_each_change_every_fault_is_expected() -> None:
    names = expected(crashing=True)
    for fault in FAULTS:
        assert f"{fault} in a swap: after open at the goal" in names
        assert f"{fault} in an add: after connect at the neighbour" in names
        assert f"{fault} in a drain: after taken at the leaver" in names
        assert f"{fault} in a return: after inquire at the other" in names
        assert f"{fault} in a path: after Rec at the tail" in names
    calm = expected(crashing=False)
    assert "pause in a drain: after taken at the leaver" in calm
    assert "cut in a path: after Rec at the tail" in calm
    assert "withdraw at the heir" not in points("drain", crashing=False)


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
