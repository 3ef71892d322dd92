"""Events that pass by: what is numbered, and which patterns have gaps."""

from __future__ import annotations

from reknit.model.event import NUMBERS_MAX, Event
from reknit.trace.records import Kind
from reknit.wire.marks import numbers_of_event
from reknit.wire.messages import Events
from tests.core.desk import Desk, event, pattern
from tests.core.recovery.round_table import PA, PB, A, B, RoundTable, numbered


def _sent(table: RoundTable) -> list[Event]:
    return [each for message in table.n.heard() if isinstance(message, Events) for each in message.events]


# --- numbers


def test_an_event_is_numbered_for_the_patterns_that_neighbours_want() -> None:
    """Erratum 12: all patterns of the publisher's table; those of clients here alone need none."""
    table = RoundTable("push", n=(A, pattern("#")), m=(B,))
    table.client("ann", pattern("+"))
    table.publish(event("a"), event("a"), event("b"))
    every = pattern("#").signature()
    assert [dict(numbers_of_event(each)) for each in _sent(table)] == [
        {PA: 1, every: 1},
        {PA: 2, every: 2},
        {PB: 1, every: 3},
    ]


def test_what_matches_more_patterns_than_an_event_has_numbers_for_is_counted() -> None:
    every = tuple(pattern("a", f"n > {number}") for number in range(NUMBERS_MAX + 3))
    table = RoundTable("push", n=every, m=())
    table.publish(*(Event("a", attributes={"n": 10_000}) for _ in range(2)))
    assert [len(numbers_of_event(each)) for each in _sent(table)] == [NUMBERS_MAX] * 2
    assert table.figures.unnumbered == 6


def test_without_recovery_nothing_is_numbered() -> None:
    desk = Desk("n")
    far = desk.linked("n", 1, A)
    desk.publish(event("a"))
    assert [(each.number, each.marks) for say in far.heard() if isinstance(say, Events) for each in say.events] == [
        (None, b"")
    ]


def test_a_pattern_that_nobody_here_wants_has_no_gaps() -> None:
    """Erratum 12: a subscriber uses only the numbers of its own patterns."""
    table = RoundTable("subscriber-pull", m=(A, B))
    table.client("ann", B)
    for number in (1, 5):
        table.events(table.n, numbered("a", number, (PA, number)))
    assert table.records(Kind.GAP) == []


def test_an_event_without_a_number_for_a_pattern_is_delivered_as_ever() -> None:
    """Erratum 12."""
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.events(table.n, Event("a", source="s.1", seq=1), numbered("a", 2, (PB, 9)))
    assert table.deliveries() == [("a", "ann"), ("a", "ann")]
