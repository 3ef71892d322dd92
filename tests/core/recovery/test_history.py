"""The guard against copies: each event once, in whatever order, with little memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.recovery.history import IDS_MIN, RUNS_MAX, History


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 60))))
def test_an_event_is_new_exactly_once(arrivals: list[tuple[str, int]]) -> None:
    history = History(10, 1000)
    seen: set[tuple[str, int]] = set()
    for ident in arrivals:
        assert history.knows(*ident) == (ident in seen)
        assert history.add(*ident) == (ident not in seen)
        seen.add(ident)


@given(st.permutations(range(1, 40)))
def test_where_all_come_nothing_is_left_to_remember(numbers: list[int]) -> None:
    history = History(10, 1000)
    for number in numbers:
        assert history.add("s", number)
    assert list(history.runs()) == [("s", [(1, 39)])]


@given(st.lists(st.integers(1, 10**9)))
def test_beyond_the_bound_nothing_is_ever_new_twice(numbers: list[int]) -> None:
    """An event may be taken for a copy; a copy never for an event."""
    history = History(10, 1)
    new = [number for number in [*numbers, *range(2, 10 * IDS_MIN, 2), *numbers] if history.add("s", number)]
    assert len(set(new)) == len(new)
    assert len(history._of["s"].firsts) <= IDS_MIN
    assert history.forgotten


def test_sources_share_the_room() -> None:
    history = History(2, 4 * IDS_MIN)
    for source in ("a", "b"):
        for number in range(2, 8 * IDS_MIN, 2):
            history.add(source, number)
    history.add("a", 8 * IDS_MIN)
    assert all(len(each.firsts) <= 2 * IDS_MIN for each in history._of.values())
    history.add("c", 1)
    assert list(history._of) == ["b", "c"]


@given(st.sets(st.integers(1, 80)))
def test_what_has_been_here_is_told_in_runs(numbers: set[int]) -> None:
    history = History(10, 1000)
    for number in numbers:
        history.add("s", number)
    told = {each for _, runs in history.runs() for first, last in runs for each in range(first, last + 1)}
    assert told == numbers


def test_of_many_runs_the_newest_are_told_and_all_before_them_counts() -> None:
    history = History(10, 100_000)
    for number in range(2, 2 * RUNS_MAX + 22, 2):
        history.add("s", number)
    ((_, runs),) = history.runs()
    assert len(runs) == RUNS_MAX
    assert runs[0] == (1, 22)
    assert runs[1:] == [(number, number) for number in range(24, 2 * RUNS_MAX + 22, 2)]


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 5))))
def test_a_run_is_added_as_a_whole_if_it_is_behind_all_that_have_come(arrivals: list[tuple[int, int]]) -> None:
    history = History(10, 1000)
    seen: set[int] = set()
    for first, more in arrivals:
        behind = all(each < first for each in seen)
        assert history.add_run("s", first, first + more) is behind
        if behind:
            seen |= set(range(first, first + more + 1))
        assert history.add("s", first) is (first not in seen)
        seen.add(first)
        told = {each for _, runs in history.runs() for start, end in runs for each in range(start, end + 1)}
        assert told == seen


def test_what_nobody_here_wants_leaves_no_trace_but_a_gap() -> None:
    """Else each event behind it would be looked at one by one, and remembered."""
    history = History(10, 1000)
    for first in range(1, 10_000, 1000):
        assert history.add_run("s", first, first + 899)
    ((_, runs),) = history.runs()
    assert len(runs) == 10
    assert not history.add_run("s", 950, 960)
    assert history.add("s", 950)
    assert not history.add("s", 1)
