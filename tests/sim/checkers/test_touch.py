"""Communities hold together, and keep in touch with those above."""

from __future__ import annotations

import random

import pytest

from reknit.model.pattern import Pattern
from reknit.sim.checkers.touch import (
    MOMENTS_MAX,
    MOMENTS_OF_ALL_MAX,
    UNLIKELY,
    chance_of_apart,
    check_touch,
    moments_of_all,
)
from reknit.sim.checkers.views import TABLE, even_size
from reknit.trace.records import Kind, Record

LOW, HIGH, ROOT = "a/b/#", "a/#", "#"
LADDERS = {LOW: [(HIGH, ROOT)], HIGH: [(ROOT,)], ROOT: []}
CALM = Record(1.0, "", Kind.CALM)
LONG = [CALM] * MOMENTS_MAX


def member(node: str, topic: str = LOW) -> Record:
    return Record(0.0, node, Kind.SUBSCRIBED, pattern=Pattern(topic))


def knows(node: str, peer: str, topic: str = LOW, detail: str = TABLE, kind: Kind = Kind.ROUTE_ADDED) -> Record:
    return Record(0.0, node, kind, peer=peer, pattern=Pattern(topic), detail=detail)


def told(*records: Record) -> list[str]:
    return [each.what for each in check_touch(records, lambda topic: LADDERS[topic], even_size(c=2.0))]


RING = [*(member(name) for name in "pqr"), knows("p", "q"), knows("q", "r"), knows("r", "p")]


def test_a_ring_holds_together_and_a_chain_does_not() -> None:
    assert told(*RING, *LONG) == []
    assert told(*RING[:-1], *LONG) == [
        "q and most of the 3 members of a/b/# do not reach each other",
        "r and most of the 3 members of a/b/# do not reach each other",
    ]


def test_one_that_nobody_knows_is_seen() -> None:
    assert told(*RING, member("s"), knows("s", "p"), *LONG) == [
        "s and most of the 4 members of a/b/# do not reach each other"
    ]


def test_of_two_parts_the_smaller_one_is_out_of_reach() -> None:
    pair = [member("s"), member("t"), knows("s", "t"), knows("t", "s"), knows("s", "p")]
    assert told(*pair, *RING, *LONG) == [
        "s and most of the 5 members of a/b/# do not reach each other",
        "t and most of the 5 members of a/b/# do not reach each other",
    ]


def test_one_after_the_other_may_be_unknown_for_a_moment_but_not_all_the_time() -> None:
    gone = [knows("r", "p", kind=Kind.ROUTE_REMOVED), CALM, knows("r", "p")]
    other = [knows("q", "r", kind=Kind.ROUTE_REMOVED), knows("q", "p"), CALM, knows("q", "r")]
    other.append(knows("q", "p", kind=Kind.ROUTE_REMOVED))
    ring = [*RING, knows("r", "q")]
    turns = [*gone, *other] * (MOMENTS_OF_ALL_MAX // 2)
    assert told(*ring, *turns[: -len(other)]) == []
    assert told(*ring, *turns) == ["the 3 members of a/b/# do not all reach each other"]


def test_how_often_somebody_is_in_no_table_is_what_drawn_tables_say() -> None:
    rng, members = random.Random(1), range(20)
    others = [[each for each in members if each != me] for me in members]
    drawn = [{each for mine in others for each in rng.sample(mine, 4)} for _ in range(4000)]
    share = sum(len(known) < len(members) for known in drawn) / len(drawn)
    assert chance_of_apart(20, even_size(c=2.0)(20)) == pytest.approx(share, rel=0.1)


def test_a_community_may_be_apart_at_as_many_moments_as_chance_makes() -> None:
    assert moments_of_all(3, 2.0) == MOMENTS_OF_ALL_MAX, "all know all"
    assert moments_of_all(40, 8.0) == MOMENTS_OF_ALL_MAX, "c = 5"
    most = moments_of_all(20, 4.0)
    assert most == 8, "a fifth of all moments: of 20188, six in a row would be nothing special"
    assert chance_of_apart(20, 4.0) ** most <= UNLIKELY < chance_of_apart(20, 4.0) ** (most - 1)


def test_for_a_moment_it_may_be_so_and_who_comes_or_goes_begins_it_anew() -> None:
    assert told(*RING[:-1], *LONG[1:], knows("r", "p"), CALM) == []
    assert told(*RING[:-1], *LONG[1:], Record(1.0, "x", Kind.STARTED), *LONG[1:]) == []


def test_of_the_dead_and_of_who_has_left_nothing_is_asked() -> None:
    assert told(*RING, member("s"), Record(0.5, "s", Kind.CRASHED), *LONG) == []
    assert told(*RING, member("s"), Record(0.5, "s", Kind.UNSUBSCRIBED, pattern=Pattern(LOW)), *LONG) == []


def test_somebody_has_to_know_somebody_of_the_nearest_community_above() -> None:
    above = "above a/b for a"
    out = ["nobody of a/b/# knows anybody of a/#, above it"]
    assert told(*RING, member("s", HIGH), *LONG) == out
    assert told(*RING, member("s", HIGH), knows("q", "s", HIGH, above), *LONG) == []
    assert told(*RING, member("s", HIGH), knows("q", "t", HIGH, above), *LONG) == out, "t is no member"
    assert told(*RING, member("p", HIGH), *LONG) == [], "a member of both needs no table"


def test_an_empty_level_is_skipped_and_one_that_is_filled_counts() -> None:
    above = knows("q", "s", ROOT, "above a/b for a")
    assert told(*RING, member("s", ROOT), above, *LONG) == []
    filled = [member("t", HIGH), knows("t", "s", ROOT, "above a for #")]
    assert told(*RING, member("s", ROOT), above, *filled, *LONG) == ["nobody of a/b/# knows anybody of a/#, above it"]
