"""Members get events as often as the formula says."""

from __future__ import annotations

import pytest

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.reception import Pool, Terms, check_reception
from reknit.sim.checkers.views import TABLE, Tables
from reknit.trace.records import Kind, Record

TERMS = Terms(c=5.0, g=1.0, a=1.0, z=3, p_succ=0.9)
LADDER = ("a/b/#", "a/#")


def member(node: str, topic: str, detail: str = "") -> Record:
    return Record(0.0, node, Kind.SUBSCRIBED, pattern=Pattern(topic), detail=detail)


def knows(node: str, peer: str, topic: str = "a/b/#", detail: str = TABLE) -> Record:
    return Record(0.0, node, Kind.ROUTE_ADDED, peer=peer, pattern=Pattern(topic), detail=detail)


def tables(*records: Record) -> Tables:
    made = Tables()
    for record in records:
        made.take(record)
    return made


CHAIN = [*(member(name, "a/b/#") for name in "pqr"), knows("p", "q"), knows("q", "r"), knows("r", "p")]


def run(missed: int, events: int = 60) -> list[Record]:
    records = [*CHAIN, Record(1.0, "", Kind.CALM)]
    for seq in range(1, events + 1):
        event = Event("a/b", source="p.1", seq=seq)
        records.append(Record(1.5, "p", Kind.PUBLISHED, event=event))
        records += [Record(1.6, name, Kind.DELIVERED, event=event) for name in ("p" if seq <= missed else "pqr")]
    return records


def test_what_chance_makes_is_no_violation_and_what_it_cannot_make_is_one() -> None:
    """Of sixty events about six are due to be missed by q, and eleven by r."""
    for missed, wrong in ((0, False), (9, False), (55, True)):
        verdict = check_reception(run(missed), lambda topic: LADDER, TERMS, 5.0)
        assert bool(verdict.violations) == wrong
        assert verdict.judged == 60
        assert verdict.owed == pytest.approx(60 * 2.71, rel=0.03)


def test_a_member_that_never_gets_anything_is_seen_among_many_that_get_all() -> None:
    """Twenty know each other, so over all of them together hardly anything is missing."""
    names = [f"p{number}" for number in range(20)]
    records = [member(name, "a/b/#") for name in names]
    records += [knows(name, other) for name in names for other in names if other != name]
    records.append(Record(1.0, "", Kind.CALM))
    for seq in range(1, 41):
        event = Event("a/b", source="p0.1", seq=seq)
        records.append(Record(1.5, "p0", Kind.PUBLISHED, event=event))
        records += [Record(1.6, name, Kind.DELIVERED, event=event) for name in names if name != "p7"]
    terms = Terms(c=2.0, g=1.0, a=1.0, z=3, p_succ=0.9)
    [violation] = check_reception(records, lambda topic: LADDER, terms, 5.0).violations
    assert violation.what.startswith("p7 of a/b/# has missed 40 of 40 events")


def test_what_was_received_is_pooled_beside_what_was_drawn() -> None:
    """Communities of 2 and 3 together."""
    verdict = check_reception(run(0), lambda topic: LADDER, TERMS, 5.0)
    [(size, pool)] = verdict.pools.items()
    assert (size, pool.received) == (2, 180)
    assert pool.drawn == pytest.approx(60 * 2.71, rel=0.02)
    assert not pool.is_short()


def test_many_schedules_are_short_where_each_may_be_chance() -> None:
    """One delivery in twenty is lost: two standard errors of one, and many of a hundred."""
    one = Pool(drawn=900.0, variance=500.0, received=855)
    together = Pool()
    for _ in range(100):
        together.add(one)
    assert not one.is_short()
    assert together.is_short()
    assert not Pool(drawn=900.0, variance=500.0, received=900).is_short()


def test_what_is_published_later_or_after_a_change_is_not_judged() -> None:
    event = Event("a/b", source="p.1", seq=1)
    late = [*CHAIN, Record(1.0, "", Kind.CALM), Record(9.0, "p", Kind.PUBLISHED, event=event)]
    assert check_reception(late, lambda topic: LADDER, TERMS, 5.0).judged == 0
    change = [*CHAIN, Record(1.0, "", Kind.CALM), member("z", "a/#"), Record(2.0, "p", Kind.PUBLISHED, event=event)]
    assert check_reception(change, lambda topic: LADDER, TERMS, 5.0).judged == 0


def test_who_only_publishes_is_owed_nothing() -> None:
    event = Event("a/b", source="p.1", seq=1)
    records = [member("p", "a/b/#"), member("q", "a/b/#", "to publish only"), knows("p", "q")]
    records += [Record(1.0, "", Kind.CALM), Record(2.0, "p", Kind.PUBLISHED, event=event)]
    assert check_reception(records, lambda topic: LADDER, TERMS, 5.0).owed == pytest.approx(1.0, abs=0.01)


def test_what_two_gateways_publish_is_one_event() -> None:
    """It is judged from the first on: what was got of it before the second counts."""
    event = Event("a/b", source="b1.1", seq=1)
    records = [*CHAIN, Record(1.0, "", Kind.CALM), Record(1.0, "p", Kind.PUBLISHED, event=event)]
    records += [Record(1.1, name, Kind.DELIVERED, event=event) for name in "pqr"]
    records.append(Record(1.2, "q", Kind.PUBLISHED, event=event))
    verdict = check_reception(records, lambda topic: LADDER, TERMS, 5.0)
    assert (verdict.judged, verdict.received) == (1, 3)
