"""Members get events as often as the formula says."""

from __future__ import annotations

import pytest

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.reception import Terms, chances, check_reception
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


def test_along_a_chain_chances_multiply_and_nobody_gets_it_from_who_has_it_from_there() -> None:
    assert chances(tables(*CHAIN), LADDER, "p", TERMS)["a/b/#"] == pytest.approx({"p": 1.0, "q": 0.9, "r": 0.81})


def test_two_ways_are_better_than_one() -> None:
    two = [*CHAIN, knows("p", "r")]
    assert chances(tables(*two), LADDER, "p", TERMS)["a/b/#"]["r"] == pytest.approx(0.9)
    diamond = [member(name, "a/b/#") for name in "pqrs"]
    diamond += [knows("p", "q"), knows("p", "r"), knows("q", "s"), knows("r", "s")]
    assert chances(tables(*diamond), LADDER, "p", TERMS)["a/b/#"]["s"] == pytest.approx(1 - (1 - 0.81) ** 2)


def test_whom_nobody_knows_is_owed_nothing() -> None:
    lone = [*CHAIN, member("s", "a/b/#"), knows("s", "p")]
    assert chances(tables(*lone), LADDER, "p", TERMS)["a/b/#"]["s"] == 0.0


def test_from_community_to_community_it_is_the_corrected_pit() -> None:
    """One member that is elected with ``g / (1.5 N)`` and knows one above: ``p_sel p_a p_succ``."""
    up = [member("p", "a/b/#"), member("s", "a/#"), knows("p", "s", "a/#", "above a/b for a")]
    got = chances(tables(*up), LADDER, "p", Terms(c=5.0, g=1.0, a=3.0, z=3, p_succ=0.9))
    assert got["a/#"]["s"] == pytest.approx(0.9 / 1.5)


def test_who_is_in_both_communities_brings_it_up_for_certain() -> None:
    both = [member("p", "a/b/#"), member("p", "a/#"), member("s", "a/#"), knows("p", "s", "a/#")]
    assert chances(tables(*both), LADDER, "p", TERMS)["a/#"] == pytest.approx({"p": 1.0, "s": 0.9})


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
        assert verdict.owed == pytest.approx(60 * 2.71)


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
    assert check_reception(records, lambda topic: LADDER, TERMS, 5.0).owed == pytest.approx(1.0)


def test_what_two_gateways_publish_is_one_event() -> None:
    """It is judged from the first on: what was got of it before the second counts."""
    event = Event("a/b", source="b1.1", seq=1)
    records = [*CHAIN, Record(1.0, "", Kind.CALM), Record(1.0, "p", Kind.PUBLISHED, event=event)]
    records += [Record(1.1, name, Kind.DELIVERED, event=event) for name in "pqr"]
    records.append(Record(1.2, "q", Kind.PUBLISHED, event=event))
    verdict = check_reception(records, lambda topic: LADDER, TERMS, 5.0)
    assert (verdict.judged, verdict.received) == (1, 3)
