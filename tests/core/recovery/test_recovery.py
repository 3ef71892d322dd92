"""Recovery in a broker: what is numbered, what is missed, what comes back; and what a stranger can do with it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.core.io import Attach, Deliver, DeliverShared, Direct, Join, Missed, Send, SendDirect, Unsubscribe
from reknit.model.event import Event, Share, Sharing
from reknit.trace.records import Kind
from reknit.wire.codec import encode
from reknit.wire.marks import numbers_of_event
from reknit.wire.messages import Events, Misses, Repair, Silent
from tests.core.desk import Desk, event, pattern
from tests.core.recovery.round_table import PA, PB, A, B, RoundTable, numbered
from tests.wire.strategies import directs


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


def test_without_recovery_nothing_is_numbered() -> None:
    desk = Desk("n")
    far = desk.linked("n", 1, A)
    desk.publish(event("a"))
    assert [(each.number, each.marks) for say in far.heard() if isinstance(say, Events) for each in say.events] == [
        (None, b"")
    ]


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
    assert table.all(Missed) == [
        Missed(("ann",), A, "s.1", 2, 3, "missing"),
        Missed(("ann",), A, "s.1", 3, 3, "recovered"),
        Missed(("ann",), A, "s.1", 2, 2, "given up"),
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


def test_the_last_event_of_a_burst_is_missed_when_its_source_says_so() -> None:
    """Erratum 11."""
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.events(table.n, numbered("a", 1, (PA, 1)))
    table.n.say(Silent("s.1", [(PA, 3)], 0))
    assert [gap.detail for gap in table.records(Kind.GAP)] == ["s.1 2-3"]
    assert Silent("s.1", [(PA, 3)], 1) in table.gossip(table.m)  # it goes on to others who want the pattern
    assert not any(isinstance(each, Silent) for each in table.gossip(table.n))


def test_a_source_that_falls_silent_says_its_last_numbers_to_each_who_wants_them() -> None:
    table = RoundTable("subscriber-pull", n=(A, B), m=(B,), heartbeat_s=0.5, heartbeats=2)
    table.publish(event("a"), event("b"), event("b"))
    table.run(0.4)
    assert table.gossip(table.n) == []
    table.run(0.2)
    assert table.gossip(table.n) == [Silent("b.1", [(PA, 1), (PB, 2)], 0)]
    assert table.gossip(table.m) == [Silent("b.1", [(PB, 2)], 0)]
    table.run(30.0)
    assert len(table.gossip(table.m)) == 2
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


# --- what comes back


def _miss_number_two(table: RoundTable) -> int:
    """The round in which it is asked for."""
    for number in (1, 3):
        table.events(table.n, numbered("a", number, (PA, number)))
    table.run(1.0)
    questions = [each for far in (table.n, table.m) for each in table.gossip(far) if isinstance(each, Misses)]
    return questions[0].asker.round


def test_an_event_that_comes_back_is_delivered_once_and_kept_but_not_sent_on() -> None:
    """Erratum 15."""
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.run(10.0)
    number = _miss_number_two(table)
    lost = numbered("a", 2, (PA, 2))
    for _ in range(2):
        table.direct(Repair("x", number, [0.5], [lost]))
    assert [(each.event.seq, each.matches[0][0]) for each in table.all(Deliver)] == [(1, "ann"), (3, "ann"), (2, "ann")]
    assert [record.peer for record in table.records(Kind.RECOVERED)] == ["x"]
    assert [each.seq for each in table.recovery.cache] == [1, 3, 2]
    passed_on = [each.seq for say in table.m.heard() if isinstance(say, Events) for each in say.events]
    assert passed_on == [1, 3]
    assert table.figures.recovered == 1
    table.events(table.n, lost)  # and behind that the one that was thought to be lost
    assert len(table.all(Deliver)) == 3


def test_an_event_that_is_only_late_is_missed_no_more() -> None:
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    for number in (1, 3, 2):
        table.events(table.n, numbered("a", number, (PA, number)))
    assert [each.event.seq for each in table.all(Deliver)] == [1, 3, 2]
    table.run(5.0)
    assert table.gossip(table.n) + table.gossip(table.m) == []


def test_one_event_may_be_missing_for_several_patterns_and_comes_back_for_all() -> None:
    """Erratum 8: all its triples are removed."""
    table = RoundTable("subscriber-pull", n=(A,), m=(A,))
    every = pattern("#")
    table.client("ann", A, every)
    table.run(10.0)
    for number in (1, 3):
        table.events(table.n, numbered("a", number, (PA, number), (every.signature(), number)))
    assert len(table.recovery.lost) == 2
    table.run(1.0)
    number = next(
        each.asker.round for each in table.gossip(table.n) + table.gossip(table.m) if isinstance(each, Misses)
    )
    table.direct(Repair("x", number, [0.1], [numbered("a", 2, (PA, 2), (every.signature(), 2))]))
    assert len(table.recovery.lost) == 0


def test_what_comes_back_for_a_group_goes_to_a_member_of_the_broker_that_was_chosen() -> None:
    table = RoundTable("subscriber-pull")
    table.give(Attach("ann"))
    table.give(Join("ann", (("g", A),)))
    table.run(10.0)
    for number in (1, 4):
        table.events(table.n, numbered("a", number, (PA, number)))
    assert table.all(Missed) == []  # which is for clients that want all of it
    table.run(1.0)
    asked = [each for each in table.gossip(table.n) + table.gossip(table.m) if isinstance(each, Misses)]
    here, elsewhere = (numbered("a", seq, (PA, seq)) for seq in (2, 3))
    here.sharing = Sharing((Share("g", "a", "", "b"),))
    elsewhere.sharing = Sharing((Share("g", "a", "", "n"),))
    for _ in range(2):
        table.direct(Repair("x", asked[0].asker.round, [0.1, 0.1], [here, elsewhere]))
    assert [(each.client, each.event.seq) for each in table.all(DeliverShared)] == [("ann", 2)]
    assert table.all(Deliver) == []
    assert len(table.recovery.lost) == 0


def test_a_client_that_came_later_does_not_get_what_was_published_before() -> None:
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.run(10.0)
    number = _miss_number_two(table)
    table.client("late", A)
    table.direct(Repair("x", number, [0.5], [numbered("a", 2, (PA, 2))]))
    assert table.all(Deliver)[-1].matches == (("ann", (A,)),)


def test_what_was_lost_before_the_first_event_is_asked_for_within_the_age_of_the_wish() -> None:
    table = RoundTable("subscriber-pull", n=(A,), m=(), first_max=2)
    table.client("ann", A)
    table.run(3.0)
    table.events(table.n, numbered("a", 9, (PA, 9)))
    assert table.records(Kind.GAP) == []  # nobody knows whether they were meant for us
    table.run(1.0)
    (question,) = (each for each in table.gossip(table.n) if isinstance(each, Misses))
    assert question.lost == [("s.1", [(7, 8)])]
    assert 3.0 <= question.age_s <= 4.0


# --- what strangers can do


def test_an_answer_to_no_question_brings_nothing_in() -> None:
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    number = _miss_number_two(table)
    table.direct(Repair("x", number + 1, [0.5], [numbered("a", 2, (PA, 2))]))
    assert table.figures.unasked == 1
    table.direct(Repair("x", number, [0.5], [numbered("a", 77, (PA, 77))]))  # which nobody misses
    table.direct(Repair("x", number, [0.5], [numbered("a", 78, source="b.1")]))
    assert table.figures.unasked == 3
    assert [each.event.seq for each in table.all(Deliver)] == [1, 3]


def test_an_event_that_does_not_match_is_delivered_to_nobody_though_its_numbers_say_so() -> None:
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.run(10.0)
    number = _miss_number_two(table)
    table.direct(Repair("x", number, [0.5], [numbered("secret", 2, (PA, 2))]))
    assert [each.event.topic for each in table.all(Deliver)] == ["a", "a"]


def test_a_datagram_that_nobody_can_read_is_counted() -> None:
    table = RoundTable("subscriber-pull")
    for datagram in (b"", b"\x91" * 1000, encode(Silent("s.1", [], 0))):
        table.give(Direct(datagram))
    assert table.figures.malformed == 3


def test_our_own_silence_does_not_come_back() -> None:
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.n.say(Silent("b.1", [(PA, 9)], 0))
    assert table.recovery.at_rest
    assert table.gossip(table.m) == []


@settings(max_examples=30, deadline=None)
@given(st.lists(directs, max_size=5), st.sampled_from(["push", "combined", "auto"]))
def test_a_datagram_in_never_causes_more_than_a_bounded_number_of_bytes_out(says: list, algorithm: str) -> None:
    """Whatever it says, and however full the cache is."""
    table = RoundTable(algorithm, answer_bytes_max=2000)
    table.client("ann", A)
    for number in range(1, 60):
        table.events(table.n, numbered("a", number, (PA, number), payload=bytes(300)))
    for message in says:
        before = len(table.effects)
        datagram = encode(message)
        table.give(Direct(datagram))
        out = sum(
            len(each.frame) if isinstance(each, Send) else len(each.datagram)
            for each in table.effects[before:]
            if isinstance(each, Send | SendDirect)
        )
        assert out <= 2000 + 500 + 2 * len(datagram)


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
