"""Complete knowledge: the ideal tables, whatever the order of messages; and origins that come to lie elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.core.routing import base
from reknit.core.routing.global_table import GlobalTable
from reknit.core.routing.table import broker
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.passage import expand
from reknit.wire.messages import Known, Message, Snapshot, Sub
from tests.core.routing.network import Net
from tests.core.routing.strategies import CLIENTS, events, patterns

A, B = Pattern.parse("a"), Pattern.parse("b")


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    steps=st.lists(
        st.tuples(st.booleans(), st.integers(0, 4), st.sampled_from(CLIENTS), patterns, st.integers(0, 3)), max_size=25
    ),
    start=st.integers(0, 4),
    event=events,
)
def test_after_any_churn_tables_are_ideal_and_events_reach_whoever_wants_them(
    seed: int, steps: list[tuple[bool, int, str, Pattern, int]], start: int, event: Event
) -> None:
    net = Net.random("global-table", 5, seed)
    brokers = list(net.nodes)
    for subscribe, where, client, pattern, arrivals in steps:
        (net.subscribe if subscribe else net.unsubscribe)(brokers[where], client, pattern)
        for _ in range(arrivals):
            net.step()
    net.run()
    assert net.tables() == net.ideal()
    delivered, hops = net.publish(brokers[start], event)
    owed = {(name, who) for name, wants in net.wanted.items() for who, each in wants if each.matches(event)}
    assert sorted(delivered) == sorted(owed)
    assert len(hops) == len(set(hops))


class Alone:
    def __init__(self, *told: str) -> None:
        self.said: list[tuple[str, Message]] = []
        self.routing = GlobalTable(Turn("b", False), lambda to, what: self.said.append((to, what)))
        for neighbour in told:
            self.routing.tell(neighbour)
        self.said.clear()

    def entries(self, neighbour: str) -> list[Pattern]:
        return self.routing.table.of(broker(neighbour))


def test_news_go_on_to_all_but_the_one_that_brought_them() -> None:
    alone = Alone("l", "m", "n")
    alone.routing.receive("m", Known("z", [A], []))
    assert alone.said == [("l", Known("z", [A], [])), ("n", Known("z", [A], []))]
    alone.routing.receive("m", Known("z", [A], []))
    assert len(alone.said) == 2


def test_what_one_says_of_us_is_no_news() -> None:
    alone = Alone("m", "n")
    alone.routing.receive("m", Known("b", [A], []))
    alone.routing.receive_snapshot("m", Snapshot([("b", [B])], last=True))
    assert alone.said == []
    assert len(alone.routing.table) == 0


def test_an_entry_stays_as_long_as_one_origin_behind_the_neighbour_wants_it() -> None:
    alone = Alone("m")
    alone.routing.receive("m", Known("y", [A], []))
    alone.routing.receive("m", Known("z", [A], []))
    alone.routing.receive("m", Known("y", [], [A]))
    assert alone.entries("m") == [A]
    alone.routing.receive("m", Known("z", [], [A]))
    assert alone.entries("m") == []


def test_an_origin_may_come_to_lie_behind_another_neighbour() -> None:
    alone = Alone("m", "n")
    alone.routing.receive("m", Known("z", [A], []))
    alone.routing.receive_snapshot("n", Snapshot([("z", [A, B])], last=True))
    assert alone.entries("n") == [A, B]
    alone.routing.forget("m")
    assert alone.entries("m") == []
    assert alone.entries("n") == [A, B]


@pytest.mark.parametrize("whole", [False, True])
def test_what_one_takes_back_leaves_what_another_says(whole: bool) -> None:
    """A memory of another tree that comes and goes: those that heard of the origin by it keep what is true."""
    alone = Alone("l", "m", "n")
    alone.routing.receive("m", Known("z", [A, B], []))
    alone.routing.receive("n", Known("z", [A, B], []))
    alone.said.clear()
    if whole:
        alone.routing.receive_snapshot("n", Snapshot([], last=True))
    else:
        alone.routing.receive("n", Known("z", [], [A, B]))
    assert alone.entries("m") == [A, B]
    assert alone.entries("n") == []
    assert alone.said == [("m", Known("z", [], [A, B]))]


@pytest.mark.parametrize("whole", [False, True])
def test_one_that_told_of_an_origin_hears_what_others_say_of_it(whole: bool) -> None:
    """It may have forgotten it by then; and what is known here already is no news for anybody else."""
    alone = Alone("m", "n", "o")
    alone.routing.receive("m", Known("x", [A, B], []))
    alone.said.clear()
    if whole:
        alone.routing.receive_snapshot("n", Snapshot([("x", [A])], last=True))
    else:
        alone.routing.receive("n", Known("x", [A], []))
    assert alone.said == [("m", Known("x", [A], []))]
    alone.said.clear()
    alone.routing.tell("m")
    alone.routing.tell("o")
    assert alone.said == [
        ("m", Snapshot([("x", [A])], last=True)),
        ("o", Snapshot([("x", [A, B])], last=True)),
    ]


def test_as_long_as_two_tell_of_one_origin_there_are_doubts() -> None:
    alone = Alone("m", "n")
    alone.routing.receive("m", Known("z", [A], []))
    assert alone.routing.doubts() == ""
    alone.routing.receive("n", Known("z", [B], []))
    assert alone.routing.doubts() == "b hears of z from m and n, still"
    alone.routing.receive("m", Known("z", [], [A]))
    assert alone.routing.doubts() == ""


def test_a_neighbour_that_goes_leaves_what_others_say_of_it() -> None:
    alone = Alone("m", "n")
    alone.routing.receive("m", Known("m", [A], []))
    alone.routing.receive_snapshot("n", Snapshot([("m", [A, B])], last=True))
    alone.routing.receive("n", Known("m", [], [A]))
    assert alone.entries("m") == [A]
    assert alone.entries("n") == [B]
    alone.routing.forget("m")
    assert alone.entries("m") == []
    assert alone.entries("n") == [B]


def test_of_what_is_behind_them_some_know_better_than_the_one_who_tells() -> None:
    alone = Alone("n")
    alone.routing.receive("m", Known("z", [A], []))
    alone.routing.beside = ("l", "m")
    alone.routing.receive_snapshot("n", Snapshot([("z", [A, B]), ("w", [B])], last=True))
    assert (alone.entries("m"), alone.entries("n")) == ([A], [B])
    alone.routing.beside = ()
    alone.routing.receive_snapshot("n", Snapshot([("z", [A])], last=True))
    assert (alone.entries("m"), alone.entries("n")) == ([A], [A])


@pytest.mark.parametrize("whole", [False, True])
def test_of_itself_a_neighbour_knows_best(whole: bool) -> None:
    """It has begun anew; what another one says of it is a memory, which may be taken back before it speaks again."""
    alone = Alone("m")
    alone.routing.receive("m", Known("n", [A], []))
    alone.routing.beside = ("m",)
    if whole:
        alone.routing.receive_snapshot("n", Snapshot([("n", [B])], last=True))
    else:
        alone.routing.receive("n", Known("n", [B], []))
    alone.routing.receive("m", Known("n", [], [A]))
    assert (alone.entries("m"), alone.entries("n")) == ([], [B])


@pytest.mark.parametrize("whole", [False, True])
def test_whoever_yields_to_others_can_still_take_back_what_it_has_said(whole: bool) -> None:
    alone = Alone("n")
    alone.routing.receive("n", Known("z", [A, B], []))
    alone.routing.receive("m", Known("z", [A], []))
    alone.routing.beside = ("m",)
    if whole:
        alone.routing.receive_snapshot("n", Snapshot([("z", [A, B])], last=True))
    else:
        alone.routing.receive("n", Known("z", [], [A, B]))
    assert (alone.entries("m"), alone.entries("n")) == ([A], [])


def test_a_neighbour_is_not_told_what_it_has_told() -> None:
    alone = Alone("n")
    alone.routing.subscribe("ann", B)
    alone.routing.receive("m", Known("z", [A], []))
    alone.said.clear()
    alone.routing.tell("m")
    alone.routing.tell("n")
    assert alone.said == [
        ("m", Snapshot([("b", [B])], last=True)),
        ("n", Snapshot([("b", [B]), ("z", [A])], last=True)),
    ]


def test_a_snapshot_voids_what_it_does_not_name() -> None:
    alone = Alone("m", "n")
    alone.routing.receive("m", Known("y", [A], []))
    alone.routing.receive("m", Known("z", [A, B], []))
    alone.said.clear()
    alone.routing.receive_snapshot("m", Snapshot([("z", [B])], last=True))
    assert alone.entries("m") == [B]
    assert sorted((message.origin, tuple(message.removed)) for _, message in alone.said) == [("y", (A,)), ("z", (A,))]  # type: ignore[union-attr]


def test_news_of_many_patterns_go_on_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MESSAGE_PATTERNS_MAX", 10)
    alone = Alone("m", "n")
    many = [Pattern.parse(f"t/{number}") for number in range(21)]
    alone.routing.receive("m", Known("z", many, []))
    parts = [message for to, message in alone.said if to == "n" and isinstance(message, Known)]
    assert [each for part in parts for each in part.added] == many
    assert [len(part.added) for part in parts] == [10, 10, 1]


def test_another_dialect_is_not_understood() -> None:
    alone = Alone("m", "n")
    alone.routing.receive("m", Sub([A]))
    assert alone.said == []
    assert len(alone.routing.table) == 0


def test_what_a_neighbour_may_want_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "NEIGHBOUR_PATTERNS_MAX", 10)
    alone = Alone("m")
    alone.routing.turn.observing = True
    alone.routing.receive("m", Known("z", [Pattern.parse(f"t/{number}") for number in range(20)], []))
    assert alone.routing.table.count(broker("m")) == 10
    assert len([each for each in expand(alone.routing.turn.seen) if each.detail == "too many patterns"]) == 10
    alone.routing.receive("m", Known("z", [Pattern.parse(f"t/{number}") for number in range(10)], []))
    assert alone.routing.table.count(broker("m")) == 10


def test_a_snapshot_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "NEIGHBOUR_PATTERNS_MAX", 10)
    alone = Alone("m")
    alone.routing.turn.observing = True
    for number in range(100):
        alone.routing.receive_snapshot("m", Snapshot([("z", [Pattern.parse(f"t/{number}")])], last=False))
    alone.routing.receive_snapshot("m", Snapshot([], last=True))
    assert 0 < alone.routing.table.count(broker("m")) <= 10
    assert {each.detail for each in expand(alone.routing.turn.seen) if each.peer and not each.pattern} == {
        "too many patterns"
    }


def test_a_pattern_named_twice_is_one() -> None:
    alone = Alone("m", "n")
    alone.routing.receive("m", Known("z", [A, A], []))
    alone.routing.receive("m", Known("z", [], [A, A]))
    assert alone.entries("m") == []
    assert [message for to, message in alone.said if to == "n"] == [Known("z", [A], []), Known("z", [], [A])]
