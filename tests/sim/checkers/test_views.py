"""Tables of peers."""

from __future__ import annotations

from reknit.model.pattern import Pattern
from reknit.sim.checkers.views import MOMENTS_MIN, TABLE, check_view_sizes, check_views, even_size, scamp_size
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


def crowd(*views: int, members: int = 100) -> list[Record]:
    """So many members, each with so many others in its view at one moment of calm after the other."""
    names = [f"p{number}" for number in range(members)]
    records = [Record(0.0, name, Kind.SUBSCRIBED, pattern=TOPIC) for name in names]
    before = 0
    for view in views:
        steps, kind = (
            (range(before + 1, view + 1), Kind.ROUTE_ADDED)
            if view > before
            else (range(view + 1, before + 1), Kind.ROUTE_REMOVED)
        )
        records += [
            added(name, names[(at + step) % members], kind=kind) for at, name in enumerate(names) for step in steps
        ]
        records.append(Record(2.0, "", Kind.CALM))
        before = view
    return records


def sized(*views: int, members: int = 100) -> list[str]:
    return [each.what for each in check_view_sizes(crowd(*views, members=members), scamp_size(1))]


def test_views_of_a_size_that_the_theory_has_are_right_and_others_are_not() -> None:
    """2 ln 100 = 9.2, within 30 %: from 6.4 to 12.0."""
    assert [bool(sized(*[view] * MOMENTS_MIN)) for view in (6, 7, 9, 11, 13)] == [True, False, False, False, True]
    assert sized(*[6] * MOMENTS_MIN) == [
        f"100 members of a/# have 6.00 in their views on average over {MOMENTS_MIN} moments, not 9.21"
    ]


def test_it_is_the_mean_over_twenty_leases_that_counts() -> None:
    assert sized(*[7, 11] * (MOMENTS_MIN // 2)) == []
    assert sized(*[6] * (MOMENTS_MIN - 1)) == [], "not long enough"
    assert sized(*[3] * MOMENTS_MIN, members=7) == [], "no crowd"


def test_and_each_lease_by_itself() -> None:
    """With a hundred members the mean of a moment is off by 30 %, and by four times 0.3 for chance, at most."""
    assert sized(*[2, 16] * (MOMENTS_MIN // 2)) == [
        "100 members of a/# have 2.00 in their views at one moment of 20, not 9.21"
    ]
    once = [9] * (MOMENTS_MIN - 1)
    assert [bool(sized(*once, view)) for view in (4, 6, 13, 14)] == [True, False, False, True]
    assert sized(*[4] * (MOMENTS_MIN - 1), 8, members=8) == [], "of eight, chance makes more"


def test_who_comes_or_goes_begins_it_anew() -> None:
    records = crowd(*[6] * MOMENTS_MIN)
    records.insert(-3, Record(2.0, "x", Kind.STARTED))
    assert check_view_sizes(records, scamp_size(1)) == []


def test_tables_of_one_size_have_that_or_hold_everybody() -> None:
    """ln 100 + 2 = 6.6."""
    found = [check_view_sizes(crowd(*[view] * MOMENTS_MIN), even_size(2.0)) for view in (3, 6, 9)]
    assert [bool(each) for each in found] == [True, False, True]
    assert [even_size(5.0)(members) for members in (3, 8, 100)] == [2.0, 7.0, 9.0]
