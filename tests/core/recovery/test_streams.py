"""Gaps: what is missing shows with the next number, and only once; errata 9 and 10 of EPIDEMIC."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.recovery.streams import Gap, Streams

S, P = "s", 7


def _streams(**bounds: int) -> Streams:
    return Streams(**{"streams_max": 10, "gap_max": 100, "first_max": 0, **bounds})


def test_a_number_above_the_next_one_shows_a_gap() -> None:
    streams = _streams()
    assert streams.arrived(S, P, 5, 5, 1) is None
    assert streams.arrived(S, P, 6, 6, 1) is None
    assert streams.arrived(S, P, 9, 9, 1) == Gap(range(7, 9), suspected=False)


def test_the_first_number_sets_the_baseline() -> None:
    """Erratum 9: earlier numbers are not lost."""
    streams = _streams()
    assert streams.arrived(S, P, 500, 500, 1) is None
    assert streams.arrived(S, P, 501, 501, 1) is None


def test_what_came_before_the_first_number_is_suspected_within_a_window() -> None:
    streams = _streams(first_max=3)
    assert streams.arrived(S, P, 2, 2, 1) == Gap(range(1, 2), suspected=True)
    assert streams.arrived("t", P, 9, 9, 1) == Gap(range(6, 9), suspected=True)
    assert streams.arrived("u", P, 1, 1, 1) is None
    assert streams.announced("v", P, 2, 1) == Gap(range(1, 3), suspected=True, hearsay=True)


def test_where_a_life_before_wanted_it_the_window_is_as_wide_as_a_gap() -> None:
    streams = _streams(first_max=3, gap_max=100)
    streams.recalled[P] = 1
    assert streams.arrived("t", P, 90, 90, 1) == Gap(range(1, 90), suspected=True)
    assert streams.arrived("u", P, 500, 500, 1) == Gap(range(400, 500), suspected=True)
    assert streams.announced("v", P, 90, 1) == Gap(range(1, 91), suspected=True, hearsay=True)
    assert streams.arrived("w", P, 90, 90, 2) == Gap(range(87, 90), suspected=True)


def test_whoever_subscribes_again_begins_anew() -> None:
    streams = _streams()
    streams.arrived(S, P, 1, 1, 1)
    assert streams.arrived(S, P, 9, 9, 2) is None
    assert streams.arrived(S, P, 11, 11, 2) == Gap(range(10, 11), suspected=False)


def test_late_and_recovered_events_are_no_gaps_and_do_not_lower_the_top() -> None:
    """Erratum 10."""
    streams = _streams()
    for number in (1, 5):
        streams.arrived(S, P, number, number, 1)
    for number in (3, 2, 4, 5, 1):
        assert streams.arrived(S, P, number, number, 1) is None
    assert streams.arrived(S, P, 6, 6, 1) is None


def test_an_announced_number_shows_the_last_of_a_burst() -> None:
    streams = _streams()
    streams.arrived(S, P, 3, 3, 1)
    assert streams.announced(S, P, 3, 1) is None
    assert streams.announced(S, P, 2, 1) is None
    assert streams.announced(S, P, 5, 1) == Gap(range(4, 6), suspected=False)


def test_a_lie_about_the_future_hides_nothing() -> None:
    streams = _streams(gap_max=4)
    streams.arrived(S, P, 3, 3, 1)
    lie = streams.announced(S, P, 10**15, 1)
    assert lie == Gap(range(10**15 - 3, 10**15 + 1), suspected=True, hearsay=True)
    assert streams.announced(S, P, 8, 1) == Gap(range(5, 9), suspected=True, hearsay=True)
    assert streams.announced(S, P, 7, 1) == Gap(range(4, 8), suspected=False)
    assert streams.arrived(S, P, 5, 5, 1) == Gap(range(4, 5), suspected=False)


def test_a_gap_beyond_the_bound_is_cut_and_that_is_seen() -> None:
    streams = _streams(gap_max=2)
    streams.arrived(S, P, 1, 1, 1)
    assert streams.arrived(S, P, 10, 10, 1) == Gap(range(8, 10), suspected=False, cut=6)


def test_streams_are_bounded_and_that_is_seen() -> None:
    streams = _streams(streams_max=2)
    for source in ("a", "b", "c"):
        streams.arrived(source, P, 1, 1, 1)
    assert len(streams) == 2
    assert streams.forgotten == 1
    assert not streams.has_passed("a", P, 1, 1)
    assert streams.has_passed("c", P, 1, 1)


@given(st.lists(st.integers(1, 30), min_size=1), st.booleans())
def test_each_number_that_did_not_come_is_missing_once(numbers: list[int], suspects: bool) -> None:
    """Whatever the order: what was said to be missing, and what came, are together all up to the highest."""
    streams = _streams(first_max=30 if suspects else 0)
    missing: list[int] = []
    for number in numbers:
        gap = streams.arrived(S, P, number, number, 1)
        missing += gap.numbers if gap is not None else ()
    assert len(set(missing)) == len(missing)
    base = 1 if suspects else numbers[0]
    assert {*missing, *numbers} >= set(range(base, max(numbers) + 1))
    before = [number for at, number in enumerate(numbers) if number in numbers[:at]]
    assert not [each for each in missing if each in before and each not in numbers]


def test_a_stream_that_is_new_here_may_begin_where_somebody_else_has_got() -> None:
    streams = _streams(first_max=5)
    assert streams.begin(S, P, 7, 1) == 7
    assert streams.arrived(S, P, 9, 9, 1) == Gap(range(8, 9), suspected=False)
    assert streams.begin(S, P, 3, 1) == 9
    assert streams.begin(S, P, 3, 2) == 3  # another epoch
    streams.arrived("t", P, 4, 4, 1)
    assert list(streams.tops({P: 2})) == [((S, P), 3)]
