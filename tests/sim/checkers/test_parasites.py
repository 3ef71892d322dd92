"""Nobody handles what it does not want."""

from __future__ import annotations

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.parasites import by_name, check_parasites
from reknit.trace.records import Kind, Record

ABOVE = by_name(["#", "a/#", "a/b/#", "x/#"])


def joined(time: float, node: str, topic: str, kind: Kind = Kind.SUBSCRIBED) -> Record:
    return Record(time, node, kind, pattern=Pattern(topic))


def seen(time: float, node: str, kind: Kind, topic: str = "a/b") -> Record:
    return Record(time, node, kind, event=Event(topic, source="s", seq=1))


def test_members_of_the_topic_and_above_it_may_have_it() -> None:
    records = [joined(0, "p", "a/b/#"), joined(0, "q", "a/#"), joined(0, "r", "#")]
    records += [seen(1, node, kind) for node in "pqr" for kind in (Kind.DELIVERED, Kind.FORWARDED)]
    assert check_parasites(records, ABOVE, 5.0) == []


def test_others_may_not_deliver_nor_pass_on_nor_be_sent_it() -> None:
    records = [joined(0, "p", "x/#"), *(seen(1, "p", kind) for kind in (Kind.DELIVERED, Kind.FORWARDED, Kind.DROPPED))]
    assert len(check_parasites(records, ABOVE, 5.0)) == 3


def test_who_has_left_or_died_may_be_sent_it_for_a_while_and_throws_it_away() -> None:
    gone = [joined(1, "p", "a/#", Kind.UNSUBSCRIBED), Record(1, "p", Kind.CRASHED)]
    for end in gone:
        records = [joined(0, "p", "a/#"), end]
        assert check_parasites([*records, seen(5, "p", Kind.DROPPED)], ABOVE, 5.0) == []
        assert len(check_parasites([*records, seen(7, "p", Kind.DROPPED)], ABOVE, 5.0)) == 1
        assert len(check_parasites([*records, seen(2, "p", Kind.FORWARDED)], ABOVE, 5.0)) == 1


def test_brokers_of_the_same_trace_are_members_of_nothing_and_carry_what_others_want() -> None:
    carried = [seen(1, "b", kind) for kind in (Kind.PUBLISHED, Kind.FORWARDED)]
    for mark in (Record(0, "b", Kind.ATTACHED, client="c"), Record(0, "b", Kind.LINK_UP, peer="d")):
        assert check_parasites([mark, *carried], ABOVE, 5.0) == []
    assert len(check_parasites([Record(0, "b", Kind.STARTED), *carried], ABOVE, 5.0)) == 2
