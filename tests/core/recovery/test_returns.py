"""What comes back: once, to those it was meant for, and only if it was asked for."""

from __future__ import annotations

from reknit.core.io import Attach, Deliver, DeliverShared, Join, Missed
from reknit.model.event import Share, Sharing
from reknit.trace.records import Kind
from reknit.wire.messages import Events, Misses, Repair, Silent
from tests.core.desk import pattern
from tests.core.recovery.round_table import PA, A, RoundTable, numbered

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
    assert table.broker.seen["s.1"] == 3
    assert [each.seq for each in table.recovery.cache] == [1, 3, 2]
    passed_on = [each.seq for say in table.m.heard() if isinstance(say, Events) for each in say.events]
    assert passed_on == [1, 3]
    assert table.figures.recovered == 1
    table.events(table.n, lost)  # and behind that the one that was thought to be lost
    assert len(table.all(Deliver)) == 3


def test_an_answer_that_is_sent_again_is_counted_and_dropped() -> None:
    """Also where it brings nothing that was not here before: what an answer costs is measured."""
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    number = _miss_number_two(table)
    answered: list[int] = []
    table.recovery.talk.asks.answer = lambda *said: answered.append(said[0])  # type: ignore[method-assign]
    for _ in range(50):
        table.direct(Repair("x", number, [0.5], [numbered("a", 2, (PA, 2))]))
    table.direct(Repair("y", number, [0.5], [numbered("a", 2, (PA, 2))]))
    assert (table.figures.replayed, table.figures.unasked) == (49, 0)
    assert answered == [number, number]


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
    assert 3.0 + 0.9 <= question.age_s <= 4.0 + 0.9  # and what a question may be under way


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


def test_what_has_come_back_a_next_life_takes_for_a_copy() -> None:
    """Also where nothing later has come along the tree: it was only announced."""
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.run(10.0)
    number = _miss_number_two(table)
    table.n.say(Silent("s.1", [(PA, 4)], 0))
    table.direct(Repair("x", number, [0.5], [numbered("a", 4, (PA, 4))]))
    assert [each.event.seq for each in table.all(Deliver)] == [1, 3, 4]
    assert table.broker.seen["s.1"] == 4
