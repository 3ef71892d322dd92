"""Runs: where nothing is missing, the ends say it all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.recovery.numbering import Numbering
from reknit.core.recovery.runs import Run, one_run, runs_of
from reknit.model.event import Event
from reknit.wire.marks import numbers_of_event, read_marks
from tests.core.recovery.round_table import numbered


def _told(runs: list[Run]) -> list[tuple[str, int, int]]:
    return [(run.source, run.first, run.last) for run in runs]


def test_events_in_line_are_one_run() -> None:
    events = [numbered("a", seq, (7, seq + 3), (8, seq)) for seq in range(1, 6)]
    run = one_run(events)
    assert run is not None
    assert _told([run]) == _told(runs_of(events)) == [("s.1", 4, 8)]
    assert len(run) == 5


def test_a_number_that_is_missing_ends_a_run() -> None:
    events = [numbered("a", seq, (7, seq)) for seq in (1, 2, 5, 6)]
    assert one_run(events) is None
    assert _told(runs_of(events)) == [("s.1", 1, 2), ("s.1", 5, 6)]


def test_a_run_goes_on_behind_what_is_for_other_patterns() -> None:
    events = [numbered("ab"[seq % 2], seq, (seq % 2, (seq + 1) // 2)) for seq in range(1, 7)]
    assert one_run(events) is None
    assert _told(runs_of(events)) == [("s.1", 1, 3), ("s.1", 1, 3)]


def test_sources_have_runs_of_their_own() -> None:
    events = [numbered("a", 1 + place // 2, (7, 1 + place // 2), source="st"[place % 2]) for place in range(4)]
    assert _told(runs_of(events)) == [("s", 1, 2), ("t", 1, 2)]


def test_what_nobody_counts_is_in_no_run() -> None:
    plain = Event("a", source="s.1", seq=1)
    assert one_run([plain]) is None
    assert one_run([]) is None
    assert runs_of([plain]) == []
    assert _told(runs_of([plain, numbered("a", 2, (7, 1)), plain, numbered("a", 3, (7, 2))])) == [("s.1", 1, 2)]


def test_one_of_the_source_between_them_is_not_one_run() -> None:
    """It may have been lost, and then the guard against copies has to know."""
    assert one_run([numbered("a", 1, (7, 1)), numbered("a", 3, (7, 2))]) is None


@given(st.lists(st.integers(1, 15), max_size=12), st.integers(0, 2**12 - 1))
def test_runs_hold_every_number_once_and_in_order_for_each_pattern(kinds: list[int], lost: int) -> None:
    """``kinds``: the patterns that each event matches, as bits; ``lost``: the same of the places of what is lost."""
    numbering, events = Numbering(10), []
    for place, kind in enumerate(kinds):
        number, marks, _ = numbering.stamp(tuple(each for each in range(4) if kind >> each & 1), 1, 0.0)
        if not lost >> place & 1:
            events.append(Event("a", source="s", seq=place + 1, number=number, marks=marks))
    there: dict[int, list[int]] = {}
    for event in events:
        for signature, number in numbers_of_event(event):
            there.setdefault(signature, []).append(number)
    found: dict[int, list[int]] = {}
    for run in runs_of(events):
        for signature, lag in read_marks(run.marks).lags:
            found.setdefault(signature, []).extend(range(run.first + lag, run.last + lag + 1))
    assert found == there
