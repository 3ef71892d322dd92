"""Which deliveries are late, in traces made by hand: every link takes a second, and c wants all."""

from __future__ import annotations

import pytest

from reknit.lab.lateness import Clock, Epoch
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind, Record

LINE = (("a", "b"), ("b", "c"))
OTHER = (("a", "c"), ("b", "c"))


def _event(source: str) -> Event:
    return Event("news", source=f"{source}.1", seq=1)


def _published(at: float, node: str) -> Record:
    return Record(at, node, Kind.PUBLISHED, client=f"at {node}", event=_event(node))


def _hop(at: float, node: str, peer: str, source: str) -> Record:
    return Record(at, node, Kind.FORWARDED, peer=peer, event=_event(source))


def _delivered(at: float, source: str) -> Record:
    return Record(at, "c", Kind.DELIVERED, client="k", event=_event(source))


def _late(*records: Record, epochs: tuple[Epoch, ...] = (Epoch(0.0, LINE, LINE),)) -> list[tuple[float, bool]]:
    clock = Clock(records, epochs, lambda one, other: 1.0)
    return [(excess_s, ordered) for excess_s, ordered, _ in clock.late()]


WAY = (_published(2.0, "a"), _hop(2.0, "a", "b", "a"), _hop(3.0, "b", "c", "a"))


def test_a_delivery_is_late_that_takes_longer_than_its_way() -> None:
    assert _late(*WAY, _delivered(4.0, "a")) == []
    assert _late(*WAY, _delivered(4.5, "a")) == [(pytest.approx(0.5), False)]


def test_the_longer_way_of_two_trees_is_allowed_while_one_becomes_the_other() -> None:
    direct = (_published(9.0, "a"), _hop(9.0, "a", "c", "a"), _delivered(11.0, "a"))
    changing = (Epoch(0.0, LINE, LINE), Epoch(8.0, LINE, OTHER))
    assert _late(*direct, epochs=changing) == []
    assert len(_late(*direct, epochs=(*changing, Epoch(8.5, OTHER, OTHER)))) == 1


def test_what_went_on_with_an_event_that_its_sender_had_handled_before_has_waited_for_order() -> None:
    second = (_published(3.2, "b"), _hop(3.2, "b", "c", "b"))
    first_late, second_late = _late(*WAY, *second, _delivered(5.0, "a"), _delivered(5.0, "b"))
    assert not first_late[1]
    assert second_late == (pytest.approx(0.8), True)


def test_what_went_on_with_an_event_that_its_sender_had_not_seen_has_not() -> None:
    stranger = (_published(1.0, "d"), _hop(3.5, "d", "c", "d"))
    assert _late(*WAY, *stranger, _delivered(4.5, "a"), epochs=(Epoch(0.0, LINE, LINE),)) == [
        (pytest.approx(0.5), False)
    ]


def test_a_subscription_is_late_where_it_is_heard_of_later_than_its_way_takes_and_counts_once() -> None:
    wanted = Record(2.0, "a", Kind.SUBSCRIBED, client="k", pattern=Pattern.parse("news"))
    heard = [
        Record(at, node, Kind.ROUTE_ADDED, peer="b", pattern=wanted.pattern) for at, node in ((3.0, "b"), (4.5, "c"))
    ]
    again = Record(9.0, "c", Kind.ROUTE_ADDED, peer="a", pattern=wanted.pattern)
    clock = Clock([wanted, *heard, again], (Epoch(0.0, LINE, LINE),), lambda one, other: 1.0)
    assert [excess_s for excess_s, _ in clock.told()] == [0.0, pytest.approx(0.5)]
