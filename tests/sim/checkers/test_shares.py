"""One member, never two and never none: by traces written by hand."""

from __future__ import annotations

from typing import Any

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.delivery import Tally
from reknit.sim.checkers.shares import GROUP, check_shares
from reknit.trace.records import DRAINED, Kind, Record

A = Pattern("a")
E = Event("a", source="b1.1", seq=1)
ON = Event("a", source="b2.1", seq=1)


def _told(*what: tuple[str, Kind, dict[str, Any]], tally: Tally | None = None, **how: bool) -> list[str]:
    """Two brokers that are linked, a member at each, and what follows."""
    begin: list[tuple[str, Kind, dict[str, Any]]] = [
        ("b1", Kind.STARTED, {}),
        ("b2", Kind.STARTED, {}),
        ("b1", Kind.LINK_ADDED, {"peer": "b2"}),
        ("b2", Kind.LINK_ADDED, {"peer": "b1"}),
        ("b1", Kind.JOINED, {"client": "ann", "pattern": A, "detail": "g"}),
        ("b2", Kind.JOINED, {"client": "bob", "pattern": A, "detail": "g"}),
        ("", Kind.CALM, {}),
    ]
    records = [Record(float(time), *each[:2], **each[2]) for time, each in enumerate([*begin, *what])]
    return [each.what for each in check_shares(records, tally, **how)]


PUBLISHED = ("b1", Kind.PUBLISHED, {"client": "pam", "event": E})
TO_ANN = ("b1", Kind.SHARED, {"client": "ann", "event": E, "pattern": A, "detail": "g"})
TO_BOB = ("b2", Kind.SHARED, {"client": "bob", "event": E, "pattern": A, "detail": "g"})
BOB_PARTS = ("b2", Kind.PARTED, {"client": "bob", "pattern": A, "detail": "g"})
ANN_PARTS = ("b1", Kind.PARTED, {"client": "ann", "pattern": A, "detail": "g"})
CALM = ("", Kind.CALM, {})


def test_one_is_right() -> None:
    assert _told(PUBLISHED, TO_ANN, CALM) == []
    assert _told(PUBLISHED, TO_BOB, CALM) == []


def test_two_are_a_copy() -> None:
    assert _told(PUBLISHED, TO_ANN, TO_BOB, CALM) == ["('b1.1', 1) came to bob at b2 as to another member of g before"]


def test_what_was_sent_on_is_the_same_event() -> None:
    passed = ("b2", Kind.PASSED_ON, {"peer": "b1", "event": ON, "detail": "b1.1 1 g"})
    on = ("b1", Kind.SHARED, {"client": "ann", "event": ON, "pattern": A, "detail": "g"})
    assert _told(PUBLISHED, BOB_PARTS, passed, on, CALM) == []
    assert len(_told(PUBLISHED, TO_BOB, passed, on, CALM)) == 1


def test_none_is_a_loss_if_one_was_there() -> None:
    (what,) = _told(PUBLISHED, CALM)
    assert what.startswith("('b1.1', 1) (a), published at b1, came to no member of g on a")
    assert _told(PUBLISHED, BOB_PARTS, CALM) != []
    assert _told(PUBLISHED, BOB_PARTS, ANN_PARTS, CALM) == []


def test_who_is_no_member_gets_nothing() -> None:
    assert _told(PUBLISHED, BOB_PARTS, TO_BOB, CALM) == ["('b1.1', 1) came to bob at b2, which is no member of g"]


def test_a_crash_where_members_were_releases_and_so_does_a_link_that_is_lost() -> None:
    assert _told(PUBLISHED, ("b2", Kind.CRASHED, {}), CALM) == []
    assert _told(PUBLISHED, ("b1", Kind.LINK_REMOVED, {"peer": "b2"}), CALM) == []
    assert _told(("b1", Kind.LINK_LOST, {"peer": "b2"}), PUBLISHED, CALM) == []
    assert _told(PUBLISHED, ("b1", Kind.CHANGE, {"detail": "strawman: start"}), CALM) == []
    assert len(_told(PUBLISHED, ("b1", Kind.CHANGE, {"detail": "swap: start"}), CALM)) == 1


def test_a_drain_releases_from_nothing() -> None:
    drained = ("b2", Kind.CHANGE, {"peer": "b1", "detail": DRAINED})
    left = ("b2", Kind.LINK_REMOVED, {"peer": "b1"})
    assert len(_told(PUBLISHED, drained, left, CALM)) == 1


def test_a_member_that_moves_is_a_witness_as_before() -> None:
    there = ("b1", Kind.JOINED, {"client": "bob", "pattern": A, "detail": "g"})
    moved = ("b2", Kind.MOVED_OUT, {"client": "bob", "peer": "b1"})
    assert len(_told(ANN_PARTS, PUBLISHED, there, moved, BOB_PARTS, CALM)) == 1


def test_an_event_that_may_be_meant_for_a_dead_broker_needs_somebody_who_knows_the_way_there() -> None:
    dead, back, other = ("b2", Kind.CRASHED, {}), ("b2", Kind.STARTED, {}), ("b3", Kind.CRASHED, {})
    assert len(_told(dead, PUBLISHED, back, CALM)) == 1
    assert _told(dead, other, PUBLISHED, back, CALM) == []
    assert _told(dead, PUBLISHED, other, back, CALM) == []
    assert len(_told(other, PUBLISHED, CALM)) == 1


def test_what_joins_two_parts_lets_nothing_be_owed_across_it_before_all_is_calm() -> None:
    alone = ("b3", Kind.STARTED, {})
    cat = ("b3", Kind.JOINED, {"client": "cat", "pattern": Pattern("c"), "detail": "h"})
    about = Event("c", source="b1.1", seq=2)
    published = ("b1", Kind.PUBLISHED, {"client": "pam", "event": about})
    joined = ("b3", Kind.LINK_ADDED, {"peer": "b2"})
    assert _told(alone, cat, CALM, joined, published, CALM) == []
    assert len(_told(alone, cat, CALM, joined, CALM, published, CALM)) == 1
    assert len(_told(alone, joined, cat, CALM, published, CALM)) == 1


KEPT = ("b1", Kind.KEPT, {"event": E})
CRASHED, BACK = ("b2", Kind.CRASHED, {}), ("b2", Kind.STARTED, {})
LINKED = (("b1", Kind.LINK_ADDED, {"peer": "b2"}), ("b2", Kind.LINK_ADDED, {"peer": "b1"}))


def test_where_links_lose_events_one_is_owed_that_somebody_has() -> None:
    assert _told(PUBLISHED, CALM, lossy=True) == []
    assert len(_told(PUBLISHED, KEPT, CALM, lossy=True)) == 1


def test_there_a_crash_excuses_what_may_be_meant_for_that_broker_and_that_is_counted() -> None:
    for lasting in (False, True):
        for what in ((PUBLISHED, CRASHED, BACK, *LINKED), (CRASHED, BACK, *LINKED, PUBLISHED)):
            if lasting and what[-1] is PUBLISHED:
                continue  # nothing is owed at all
            for end, count in ((KEPT,), 1), ((), 0), ((KEPT, TO_ANN), 0):
                tally = Tally()
                assert _told(*what, *end, CALM, tally=tally, lossy=True, lasting=lasting) == []
                assert tally.excused[GROUP] == count


def test_what_is_published_while_that_broker_is_dead_waits_for_it_and_when_its_members_are_back_it_is_as_before() -> (
    None
):
    assert len(_told(CRASHED, PUBLISHED, BACK, *LINKED, KEPT, CALM, lossy=True)) == 1
    bob = ("b2", Kind.JOINED, {"client": "bob", "pattern": A, "detail": "g"})
    assert len(_told(CRASHED, BACK, *LINKED, bob, PUBLISHED, KEPT, CALM, lossy=True)) == 1
