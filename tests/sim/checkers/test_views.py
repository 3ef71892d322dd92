"""Tables of peers."""

from __future__ import annotations

from reknit.model.pattern import Pattern
from reknit.sim.checkers.views import TABLE, check_view_sizes, check_views, even_size, scamp_size
from reknit.trace.records import Kind, Record

TOPIC = Pattern("a/#")


def added(node: str, peer: str, detail: str = TABLE, kind: Kind = Kind.ROUTE_ADDED) -> Record:
    return Record(1.0, node, kind, peer=peer, pattern=TOPIC, detail=detail)


def told(*records: Record) -> list[str]:
    return [each.what for each in check_views(records, view_max=3, z=2)]


def test_oneself_and_the_same_one_twice_are_seen() -> None:
    assert told(added("p", "q"), added("q", "p")) == []
    assert told(added("p", "p")) == ["p has itself in its table of a/#"]
    assert told(added("p", "q"), added("p", "q")) == ["p has q twice in its table of a/#"]
    assert told(added("p", "q"), added("p", "q", kind=Kind.ROUTE_REMOVED), added("p", "q")) == []


def test_another_life_begins_with_empty_tables() -> None:
    assert told(added("p", "q"), Record(2.0, "p", Kind.STARTED), added("p", "q")) == []


def test_who_has_left_has_no_table_any_more() -> None:
    above = "above a for #"
    assert told(added("p", "q"), Record(2.0, "p", Kind.UNSUBSCRIBED, pattern=TOPIC), added("p", "q")) == []
    assert (
        told(added("p", "q", above), Record(2.0, "p", Kind.UNSUBSCRIBED, pattern=TOPIC), added("p", "q", above)) == []
    )


def test_each_table_has_its_bound() -> None:
    assert len(told(*(added("p", name) for name in "qrst"))) == 1
    assert len(told(*(added("p", name, "above b for a") for name in "qrs"))) == 1


def crowd(view: int) -> list[Record]:
    """A hundred members, each with so many others in its view."""
    names = [f"p{number}" for number in range(100)]
    records = [Record(0.0, name, Kind.SUBSCRIBED, pattern=TOPIC) for name in names]
    records += [added(name, names[(at + step) % 100]) for at, name in enumerate(names) for step in range(1, view + 1)]
    return [*records, Record(2.0, "", Kind.CALM)]


def test_views_of_a_size_that_the_theory_has_are_right_and_others_are_not() -> None:
    """2 ln 100 = 9.2, within 30 % and three standard errors of 0.3."""
    sizes = (4, 6, 9, 12, 14)
    assert [bool(check_view_sizes(crowd(view), scamp_size(1))) for view in sizes] == [True, False, False, False, True]


def test_tables_of_one_size_have_that_or_hold_everybody() -> None:
    """ln 100 + 2 = 6.6."""
    assert [bool(check_view_sizes(crowd(view), even_size(2.0))) for view in (3, 6, 9)] == [True, False, True]
    assert [even_size(5.0)(members) for members in (3, 8, 100)] == [2.0, 7.0, 9.0]
