"""The gate of a broker that begins: whom it may tell, when it opens, and that it always does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.routing.gate import Gate


def test_without_neighbours_it_is_open() -> None:
    gate = Gate([], 5.0)
    gate.start(0.0)
    assert gate.open
    assert gate.may_tell("n")
    assert gate.deadline() is None
    assert not gate.due(100.0)


def test_a_neighbour_is_told_when_all_others_have_been_heard() -> None:
    gate = Gate(["m", "n"], 5.0)
    assert not gate.may_tell("m")
    gate.heard("n")
    assert gate.may_tell("m")
    assert not gate.may_tell("n")
    assert not gate.open
    gate.heard("m")
    assert gate.open


def test_it_waits_for_a_bounded_time() -> None:
    gate = Gate(["m", "n"], 5.0)
    gate.start(10.0)
    gate.heard("n")
    assert gate.deadline() == 15.0
    assert not gate.due(14.9)
    assert not gate.open
    assert gate.due(15.0)
    assert list(gate.late) == ["m"]
    assert gate.open
    assert gate.deadline() is None
    assert not gate.due(16.0)


def test_it_waits_for_those_who_kept_events_too_but_tells_its_neighbours() -> None:
    gate = Gate(["m"], 5.0, ["former"])
    gate.heard("m")
    assert not gate.open
    assert gate.may_tell("m")
    assert gate.waiting_for == ["former"]
    gate.replayed("former")
    assert gate.open


def test_what_was_heard_can_be_void() -> None:
    gate = Gate(["m"], 5.0)
    gate.heard("m")
    gate.expect("m")
    assert not gate.open
    gate.heard("m")
    assert gate.open


@given(st.lists(st.sampled_from("abcde"), unique=True), st.lists(st.sampled_from("abcdefg")))
def test_it_is_open_exactly_when_all_were_heard(expected: list[str], heard: list[str]) -> None:
    gate = Gate(expected, 5.0)
    gate.start(0.0)
    for name in heard:
        gate.heard(name)
    assert gate.missing == [name for name in expected if name not in heard]
    assert gate.open == (not gate.missing)
    assert (gate.deadline() is None) == gate.open


def test_whoever_stands_in_for_another_is_waited_for_instead() -> None:
    gate = Gate(["a", "b"], 5.0)
    gate.stands_in("c", "a")
    gate.heard("a")
    assert gate.missing == ["b", "c"]
    gate.stands_in("d", "nobody")
    assert gate.missing == ["b", "c"]


def test_whoever_stands_in_for_one_that_is_late_is_late_and_the_gate_stays_open() -> None:
    gate = Gate(["a"], 5.0)
    gate.start(0.0)
    assert gate.due(5.0)
    gate.stands_in("c", "a")
    gate.heard("a")
    assert gate.open
    assert list(gate.late) == ["c"]
    gate.heard("c")
    assert not gate.late
