"""Recovery in a broker: what is numbered, what is missed, what comes back; and what a stranger can do with it."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from reknit.core.io import Direct, Missed, Send, SendDirect, Unsubscribe
from reknit.model.event import Event
from reknit.trace.records import Kind
from reknit.wire.codec import encode
from reknit.wire.messages import Asker, Keeps, Misses, MissesOf, Range, Repair, Silent, Wants
from reknit.wire.messages import Direct as Said
from tests.core.desk import event
from tests.core.recovery.round_table import PA, PB, A, B, RoundTable, numbered

# --- gaps


def test_a_gap_is_seen_with_the_next_event_and_reported() -> None:
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    for number in (1, 2, 5):
        table.events(table.n, numbered("a", number, (PA, number)))
    (gap,) = table.records(Kind.GAP)
    assert (gap.pattern, gap.size, gap.detail) == (A, 2, "s.1 3-4")
    assert (table.figures.gaps, table.figures.lost) == (1, 2)


def test_clients_hear_what_they_miss_and_what_becomes_of_it() -> None:
    table = RoundTable("subscriber-pull", lost_s_max=5.0)
    table.client("ann", A)
    table.client("ben", B)
    for number in (1, 4, 3):
        table.events(table.n, numbered("a", number, (PA, number)))
    table.run(6.0)
    assert _told(table) == ["2-3 missing", "3-3 recovered", "2-2 given up"]
    assert {each.clients for each in table.all(Missed)} == {("ann",)}


def _told(table: RoundTable) -> list[str]:
    return [f"{each.first}-{each.last} {each.state}" for each in table.all(Missed)]


def test_what_is_beyond_the_bound_of_a_gap_is_given_up_at_once() -> None:
    table = RoundTable("subscriber-pull", lost_s_max=5.0, gap_max=3)
    table.client("ann", A)
    for number in (1, 11):
        table.events(table.n, numbered("a", number, (PA, number)))
    assert _told(table) == ["2-10 missing", "2-7 given up"]
    assert (table.figures.lost, table.figures.cut) == (9, 6)
    table.run(6.0)
    assert _told(table)[2:] == ["8-10 given up"]


def test_what_was_suspected_and_turns_out_to_be_missing_is_told_as_such() -> None:
    table = RoundTable("subscriber-pull", gap_max=4)
    table.client("ann", A)
    table.events(table.n, numbered("a", 1, (PA, 1)))
    table.n.say(Silent("s.1", [(PA, 6)], 1))  # too far away to be believed
    assert _told(table) == []
    table.events(table.n, numbered("a", 7, (PA, 7)))
    assert _told(table) == ["2-6 missing", "2-2 given up"]
    table.events(table.n, numbered("a", 5, (PA, 5)))
    assert _told(table)[2:] == ["5-5 recovered"]


def test_what_was_told_to_be_missing_is_not_told_again() -> None:
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.events(table.n, numbered("a", 1, (PA, 1)))
    table.n.say(Silent("s.1", [(PA, 3)], 1))
    table.events(table.n, numbered("a", 5, (PA, 5)))
    assert _told(table) == ["2-3 missing", "4-4 missing"]


def test_whoever_subscribes_again_begins_anew() -> None:
    """Erratum 9."""
    table = RoundTable("subscriber-pull", first_max=0)
    table.client("ann", A)
    table.events(table.n, numbered("a", 1, (PA, 1)))
    table.give(Unsubscribe("ann", (A,)))
    table.client("ann", A)
    table.events(table.n, numbered("a", 9, (PA, 9)))
    assert table.records(Kind.GAP) == []


def test_what_nobody_wants_any_more_is_not_asked_for() -> None:
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    for number in (1, 5):
        table.events(table.n, numbered("a", number, (PA, number)))
    table.give(Unsubscribe("ann", (A,)))
    table.run(5.0)
    assert table.gossip(table.n) + table.gossip(table.m) == []
    assert table.recovery.at_rest


def test_an_event_that_does_not_come_is_given_up() -> None:
    table = RoundTable("subscriber-pull", lost_s_max=5.0)
    table.client("ann", A)
    for number in (1, 3):
        table.events(table.n, numbered("a", number, (PA, number)))
    table.run(6.0)
    assert [each.detail for each in table.records(Kind.GIVEN_UP)] == ["s.1 2"]
    assert table.figures.given_up == 1
    assert table.recovery.at_rest


# --- what strangers can do


@pytest.mark.parametrize("algorithm", ["push", "combined", "auto"])
def test_numbers_from_the_future_are_not_told_to_clients_and_push_nothing_out(algorithm: str) -> None:
    table = RoundTable(algorithm, losses_max=300, hearsay_max=200, gap_max=100, lost_s_max=1000.0)
    table.client("ann", A)
    for number in (1, 5):
        table.events(table.n, numbered("a", number, (PA, number)))
    for each in range(20):
        kept = [("s.1", [(2**50 + each * 1000, 2**51 + each * 1000)])]
        table.n.say(Keeps(table.asker(number=each + 1), PA, kept, 0))
        table.n.say(Silent("s.1", [(PA, 2**50 + each)], 1))
    table.n.say(Keeps(table.asker(number=99), PA, [(f"t.{each}", [(1000, 1000)]) for each in range(100)], 0))
    table.run(5.0)
    assert _told(table) == ["2-4 missing"]
    assert (table.figures.lost, table.figures.cut) == (3, 0)
    assert table.figures.hearsay > 1000
    missing = table.recovery.lost
    assert {number for source, _, number in missing.entries if source == "s.1"} >= {2, 3, 4}
    assert len(missing) <= 300
    assert sum(source == "s.1" for source, _, _ in missing.entries) <= 203


@pytest.mark.parametrize("algorithm", ["push", "combined", "auto"])
def test_a_lie_about_the_near_future_is_told_in_few_words_and_counted(algorithm: str) -> None:
    """It cannot be told from the truth: behind the last event of a burst nothing else shows that it is missing."""
    table = RoundTable(algorithm, gap_max=100, lost_s_max=5.0)
    table.client("ann", A)
    table.events(table.n, numbered("a", 1, (PA, 1)))
    table.n.say(Silent("s.1", [(PA, 1 + each) for each in (*range(51), *range(50))], 1))
    assert _told(table) == ["2-51 missing"]
    table.n.say(Keeps(table.asker(), PA, [("s.1", [(each, each)]) for each in range(60, 102)], 0))
    assert _told(table)[1:] == ["52-101 missing"]
    table.run(10.0)
    assert _told(table)[2:] == ["2-101 given up"]
    assert table.figures.unconfirmed == table.figures.lost == 100
    table.events(table.n, numbered("a", 2, (PA, 2)), numbered("a", 4, (PA, 4)))
    assert _told(table)[3:] == ["3-3 missing"]  # the next events are what counts
    table.run(10.0)
    assert table.figures.unconfirmed == 100


def test_what_a_publisher_has_never_given_is_told_in_one_word() -> None:
    table = RoundTable("auto", gap_max=100)
    table.client("ann", A)
    table.events(table.n, numbered("a", 1, (PA, 1), route=("s",), address="s:1", key=9))
    table.n.say(Silent("s.1", [(PA, 101)], 1))
    table.run(5.0)
    question = [each for _, each in table.directs() if isinstance(each, MissesOf)][-1]
    table.direct(Repair("s", question.asker.round, [], [], never=[(PA, [(2, 101)])]))
    assert _told(table) == ["2-101 missing", "2-101 given up"]
    assert table.figures.never_were == table.figures.unconfirmed == 100


def test_one_message_makes_a_broker_look_for_so_many_events_at_most() -> None:
    table = RoundTable("push", hearsay_max=100, first_max=64)
    table.client("ann", A)
    table.n.say(Keeps(table.asker(), PA, [(f"t.{each}", [(1000, 1000)]) for each in range(200)], 0))
    assert len(table.recovery.lost) == 100
    assert table.figures.unheard_of == 28 + 198 * 64
    table.n.say(Silent("s.1", [(PA, 1000)] * 200, 0))
    assert len(table.recovery.lost) == 164


def test_a_datagram_that_nobody_can_read_is_counted() -> None:
    table = RoundTable("subscriber-pull")
    for datagram in (b"", b"\x91" * 1000, encode(Silent("s.1", [], 0))):
        table.give(Direct(datagram))
    assert table.figures.malformed == 3


def _full_and_at_rest(algorithm: str, cache: str) -> RoundTable:
    """Whatever it says from now on, it was made to say. Of what it has published, some is not kept any more."""
    bounds = {"answer_bytes_max": 2000, "cache": cache, "cache_events_max": 500}
    table = RoundTable(algorithm, **bounds, digest_s_max=3.0, lost_s_max=3.0, heartbeats=1)
    table.client("ann", A)
    for _ in range(600):
        table.publish(Event("a", bytes(300)))
    for number in range(1, 60):
        if number != 30:
            marks = {"route": ("s", "n"), "address": "s:1", "key": 9}
            table.events(table.n, numbered("a", number, (PA, number), payload=bytes(300), **marks))
        table.run(0.05)
    table.run(60.0)
    assert table.recovery.at_rest
    return table


def _rounds(table: RoundTable) -> list[int]:
    """Those that it has told others of."""
    said = [*table.gossip(table.n), *table.gossip(table.m), *(each for _, each in table.directs())]
    return [each.asker.round for each in said if isinstance(each, Keeps | Misses | MissesOf)]


RANGES: list[list[Range]] = [[(1, 59)], [(1, 40)], [(30, 30)], [(1, 2), (20, 2**60)], [(1, 2**62)], [(2, 600)]]
MANY = 300
"""Entries of a question, some of which are such as nobody asks."""


def _says(table: RoundTable, chance: random.Random) -> Iterator[Said]:
    """What somebody might say who knows much: real sources, patterns and rounds, and perhaps the key."""
    rounds = _rounds(table)
    for count in range(60):
        pick = chance.choice
        asker = Asker(f"x{count}", "x:1", pick([*rounds, 7]))
        many = pick([chance.randrange(1, 4), chance.randrange(1, 4), MANY])
        some = [(pick([PA, PA, PB]), pick([0.0, 1000.0]), pick(RANGES)) for _ in range(many)]
        source, way = pick(["s.1", "b.1", "t.1"]), pick([[], ["b"], ["n", "s"], ["gone", "s"]])
        others = pick([[], [("s.1", some)], [("t.1", some[:1]), ("s.1", some[:1])] * (many // 3)])
        yield MissesOf(asker, source, some, way, "s:1", pick([table.key, 0]), others)
        signature, age_s, _ = some[0]
        yield Wants(asker, signature, age_s, [(source, ranges) for _, _, ranges in some])
        late = chance.randrange(1, 60)
        events = [numbered("a", late + each, (PA, late + each), payload=bytes(300)) for each in range(3)]
        yield Repair("x", asker.round, [1.0] * 3, events, *[[(PA, pick(RANGES))] for _ in range(3)])


def _bytes_out(table: RoundTable, since: int) -> int:
    return sum(
        len(each.frame) if isinstance(each, Send) else len(each.datagram)
        for each in table.effects[since:]
        if isinstance(each, Send | SendDirect)
    )


@pytest.mark.parametrize(
    ("algorithm", "cache"),
    [
        ("push", "strangers-first"),
        ("combined", "strangers-first"),
        ("auto", "strangers-first"),
        ("auto", "probabilistic"),
    ],
)
def test_a_datagram_in_never_causes_more_than_a_bounded_number_of_bytes_out(algorithm: str, cache: str) -> None:
    """Whatever it says, however full the cache is, or full of holes, and for as long as it may have an effect."""
    table = _full_and_at_rest(algorithm, cache)
    caused = []
    for message in _says(table, random.Random(algorithm)):
        before, datagram = len(table.effects), encode(message)
        table.give(Direct(datagram))
        table.run(5.0)
        caused.append(_bytes_out(table, before))
        assert caused[-1] <= 2000 + 500 + 2 * min(len(datagram), 500)
        assert table.recovery.at_rest
    assert max(caused) > 1000  # it was worth asking


@pytest.mark.parametrize("algorithm", ["push", "subscriber-pull", "publisher-pull", "combined", "random-pull", "auto"])
def test_where_nothing_is_lost_and_nothing_is_new_nothing_is_said(algorithm: str) -> None:
    table = RoundTable(algorithm, digest_s_max=3.0, heartbeats=1)
    table.client("ann", A)
    for number in (1, 2, 3):
        table.events(table.n, numbered("a", number, (PA, number)))
    table.publish(event("a"))
    table.run(10.0)
    said = len(table.gossip(table.n) + table.gossip(table.m))
    table.run(100.0)
    assert len(table.gossip(table.n) + table.gossip(table.m)) == said
    assert table.recovery.at_rest
