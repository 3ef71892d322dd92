"""``auto``: the publisher's broker first, in one question for all that is missing; others where it cannot help."""

from __future__ import annotations

from typing import Any

from reknit.core.io import Deliver, Missed
from reknit.model.event import Event
from reknit.wire.codec import encode
from reknit.wire.marks import read_marks
from reknit.wire.messages import Events, Misses, MissesOf, Repair, Silent
from tests.core.desk import event
from tests.core.recovery.round_table import PA, PB, A, B, RoundTable, numbered

ADDRESS = "s:1"


def _table(**more: Any) -> RoundTable:
    return RoundTable(
        "auto", n=(A, B), **{"again_s": 0.2, "again_s_max": 0.4, "hold_s_max": 0.0, "gossip_s": 0.1, **more}
    )


def _event(number: int, topic: str = "a", source: str = "s.1", **marks: Any) -> Any:
    pattern, seq = (PA, number) if topic == "a" else (PB, 100 + number)
    return numbered(topic, seq, (pattern, number), source=source, route=("s",), address=ADDRESS, **marks)


def _asked(table: RoundTable) -> list[MissesOf]:
    return [said for to, said in table.directs() if isinstance(said, MissesOf)]


def _others_asked(table: RoundTable) -> list[Misses]:
    return [each for far in (table.n, table.m) for each in table.gossip(far) if isinstance(each, Misses)]


def test_events_say_where_their_own_broker_is_and_not_by_which_others_they_came() -> None:
    table = _table()
    table.publish(event("a"))
    table.events(table.n, _event(1))
    sent = [read_marks(each.marks) for say in table.m.heard() if isinstance(say, Events) for each in say.events]
    assert [(marks.route, marks.address) for marks in sent] == [(("b",), "b:1"), (("s",), ADDRESS)]


def test_one_question_past_the_tree_names_all_that_is_missing_of_a_source() -> None:
    table = _table()
    table.client("ann", A, B)
    for number in (1, 3, 5):
        table.events(table.n, _event(number))
    for number in (1, 4):
        table.events(table.n, _event(number, "b"))
    table.run(0.1)
    (question,) = _asked(table)
    assert (question.source, question.route, question.address) == ("s.1", ["s"], ADDRESS)
    asked = {signature: ranges for signature, _, ranges in question.lost}
    assert asked == {PA: [(2, 2), (4, 4)], PB: [(2, 3)]}
    assert _others_asked(table) == []


def test_what_comes_back_is_delivered_and_not_asked_for_again() -> None:
    table = _table()
    table.client("ann", A)
    table.run(1.0)
    for number in (1, 3):
        table.events(table.n, _event(number))
    table.run(0.1)
    (question,) = _asked(table)
    table.direct(Repair("s", question.asker.round, [0.05], [_event(2)]))
    table.run(5.0)
    assert len(_asked(table)) == 1
    assert [each.event.seq for each in table.all(Deliver)] == [1, 3, 2]
    assert table.recovery.at_rest


def test_a_question_without_an_answer_is_repeated_and_takes_along_what_is_new() -> None:
    table = _table()
    table.client("ann", A)
    for number in (1, 3):
        table.events(table.n, _event(number))
    table.run(0.1)
    table.events(table.n, _event(5))
    table.run(0.3)
    first, second = _asked(table)[:2]
    assert [ranges for _, _, ranges in first.lost] == [[(2, 2)]]
    assert {number for each in _asked(table)[1:] for _, _, ranges in each.lost for number in ranges} >= {(4, 4)}
    assert second.asker.round != first.asker.round


def test_what_is_missing_is_gathered_before_it_is_asked_for() -> None:
    table = _table(hold_s_max=4.0)
    table.client("ann", A)
    table.events(table.n, _event(1))
    table.events(table.n, _event(3))
    table.run(0.5)
    table.events(table.n, _event(5))
    table.run(0.4)
    assert _asked(table) == []
    table.run(0.3)
    assert [[ranges for _, _, ranges in each.lost] for each in _asked(table)] == [[[(2, 2), (4, 4)]]]


def test_others_are_asked_for_what_the_publisher_does_not_have_any_more() -> None:
    table = _table()
    table.client("ann", A)
    for number in (1, 3):
        table.events(table.n, _event(number))
    table.run(0.1)
    (question,) = _asked(table)
    table.direct(Repair("s", question.asker.round, [], [], gone=[(PA, [(2, 2)])]))
    table.run(1.0)
    assert len(_asked(table)) == 1
    others = _others_asked(table)
    assert others
    assert {str(each.lost) for each in others} == {str([("s.1", [(2, 2)])])}


def test_what_was_only_suspected_and_is_too_old_is_forgotten() -> None:
    """First contact: whether the events before were meant for us, their publisher can tell."""
    table = _table()
    table.client("ann", A)
    table.events(table.n, _event(9))
    table.run(0.1)
    (question,) = _asked(table)
    assert [ranges for _, _, ranges in question.lost] == [[(1, 8)]]
    table.direct(Repair("s", question.asker.round, [], [], old=[(PA, [(1, 8)])]))
    table.run(5.0)
    assert len(_asked(table)) == 1
    assert _others_asked(table) == []


def test_whether_something_is_too_old_a_broker_that_was_too_busy_to_look_cannot_tell() -> None:
    """Meanwhile the wish has become older than the question says."""
    table = _table()
    table.client("ann", A)
    table.events(table.n, _event(9))
    table.run(0.1)
    (question,) = _asked(table)
    table.now += 4.0
    table.direct(Repair("s", question.asker.round, [], [], old=[(PA, [(1, 8)])]))
    table.run(0.5)
    assert [ranges for each in _asked(table)[1:] for _, _, ranges in each.lost][:1] == [[(1, 8)]]


def test_a_question_says_an_age_that_holds_when_it_arrives() -> None:
    """Else what was published just behind a wish would be too old for it."""
    table = _table(again_s=0.2)
    table.client("ann", A)
    table.run(1.0)
    for number in (1, 3):
        table.events(table.n, _event(number))
    table.run(0.1)
    (question,) = _asked(table)
    ((_, age_s, _),) = question.lost
    assert 1.2 <= age_s <= 1.3


def test_a_lie_about_age_makes_nobody_forget_what_is_known_to_be_missing() -> None:
    table = _table()
    table.client("ann", A)
    for number in (1, 3):
        table.events(table.n, _event(number))
    table.run(0.1)
    (question,) = _asked(table)
    table.direct(Repair("s", question.asker.round, [], [], old=[(PA, [(1, 2**40)])]))
    assert ("s.1", PA, 2) in table.recovery.lost


def test_a_publisher_that_never_answers_is_not_all_there_is() -> None:
    table = _table()
    table.client("ann", A)
    for number in (1, 3):
        table.events(table.n, _event(number))
    table.run(10.0)
    assert len(_asked(table)) > 4
    assert _others_asked(table)


def test_a_heartbeat_brings_the_address_too() -> None:
    table = _table()
    table.client("ann", A)
    table.n.say(Silent("s.1", [(PA, 3)], 1, ("s",), ADDRESS))
    table.run(0.2)
    assert [[ranges for _, _, ranges in each.lost] for each in _asked(table)][:1] == [[[(1, 3)]]]
    passed = [each for each in table.gossip(table.m) if isinstance(each, Silent)]
    assert [(each.route, each.address) for each in passed] == [(("s",), ADDRESS)]


def test_what_it_will_not_give_it_says_in_few_bytes_however_much_is_asked_for() -> None:
    table = _table(digest_numbers_max=50)
    table.publish(*(event("a") for _ in range(10)))
    for ranges in ([(1, 2**60)], [(each, each) for each in range(1000, 3000, 2)]):
        before = len(table.directs())
        question = MissesOf(table.asker(number=len(ranges)), "b.1", [(PA, 0.0, ranges)], ["b"], "b:1", table.key)
        table.run(1.0)
        table.direct(question)
        ((_, answer),) = table.directs()[before:]
        assert len(encode(answer)) < len(encode(question)) + 200
    assert table.figures.unheard_of > 2**59


def test_the_publishers_broker_says_what_it_will_not_give() -> None:
    table = _table(cache_events_max=2)
    table.publish(*(event("a") for _ in range(4)))
    table.run(2.0)
    lost = [(PA, [(1, 3)]), (PB, [(9, 9)])]
    for number, age_s in ((7, 3.0), (8, 1.0)):
        misses = [(signature, age_s, ranges) for signature, ranges in lost]
        table.direct(MissesOf(table.asker(number=number), "b.1", misses, ["b"], "b:1", table.key))
    (to, early), (_, late) = table.directs()
    assert to == "x"
    assert isinstance(early, Repair)
    assert isinstance(late, Repair)
    assert ([each.seq for each in early.events], early.gone, early.old) == ([3], [(PA, [(1, 2)])], [])
    # Whoever came later was meant to get none of these, and what was published since is all there.
    assert (late.events, late.gone, late.old) == ([], [], [(PA, [(1, 3)])])
    assert early.never == late.never == [(PB, [(9, 9)])]


def test_what_never_was_the_publishers_broker_says_and_nobody_asks_again() -> None:
    table = _table(cache_events_max=2)
    table.publish(event("a"))
    table.direct(MissesOf(table.asker(), "b.1", [(PA, 100.0, [(1, 1), (2**50, 2**50 + 1)])], ["b"], "b:1", table.key))
    ((_, answer),) = table.directs()
    assert isinstance(answer, Repair)
    assert (len(answer.events), answer.gone, answer.old) == (1, [], [])
    assert answer.never == [(PA, [(2**50, 2**50 + 1)])]


def test_a_publishers_broker_that_has_begun_to_count_anew_does_not_know_what_never_was() -> None:
    table = _table(patterns_max=1)
    table.publish(event("a"), event("b"))
    table.direct(MissesOf(table.asker(), "b.1", [(PA, 100.0, [(9, 9)])], ["b"], "b:1", table.key))
    ((_, answer),) = table.directs()
    assert isinstance(answer, Repair)
    assert answer.never == []


def test_of_what_never_was_clients_hear_no_more_than_they_were_told() -> None:
    table = _table()
    table.client("ann", A)
    table.events(table.n, _event(1))
    table.n.say(Silent("s.1", [(PA, 2)], 1, ("s",), ADDRESS))
    table.n.say(Silent("s.1", [(PA, 2**50)], 1, ("s",), ADDRESS))
    table.run(1.0)
    asked = _asked(table)[-1]
    never = [(PA, [(2, 2), (2**50 - 9, 2**50)])]
    table.direct(Repair("s", asked.asker.round, [], [], [], [], never))
    told = [Missed(("ann",), A, "s.1", 2, 2, state) for state in ("missing", "given up")]
    assert table.all(Missed) == told
    assert (table.figures.lost, table.figures.given_up, table.figures.never_were) == (1, 1, 11)


def test_a_fellow_gives_what_it_has_of_others_events_and_says_nothing_of_the_rest() -> None:
    table = _table(digest_numbers_max=4)
    table.client("ann", A)
    table.run(1.0)
    for number in range(1, 9):
        table.events(table.n, _event(number))
    lost = [(PA, 1.0, [(1, 3)]), (PB, 1.0, [(1, 1)])]
    table.direct(MissesOf(table.asker(), "b.1", [], ["b"], "b:1", table.key, [("s.1", lost), ("x.1", lost)]))
    assert table.repairs() == [("x", 3), ("x", 2), ("x", 1)]
    # Of all that one question names, no more is looked at than one may name.
    table.direct(MissesOf(table.asker(number=8), "b.1", [], ["b"], "b:1", table.key, [("s.1", [(PA, 1.0, [(1, 8)])])]))
    assert table.repairs()[3:] == [("x", 8), ("x", 7), ("x", 6), ("x", 5)]
    assert table.figures.unheard_of >= 4
    # Nor is a stranger answered, nor whoever asks along the tree.
    before = len(table.directs())
    table.direct(MissesOf(table.asker(number=9), "b.1", [], ["b"], "b:1", 3, [("s.1", lost)], [PA]))
    table.n.say(MissesOf(table.asker(number=10), "b.1", [], ["b"], "b:1", table.key, [("s.1", lost)], [PA]))
    assert len(table.directs()) == before
    assert table.recovery.talk.fellows.of(PA) == []


def test_what_is_kept_but_too_old_and_what_is_gone_are_told_apart() -> None:
    table = _table(cache_bytes_max=400)
    table.publish(event("a"))
    table.run(1.0)
    table.publish(Event("a", bytes(300)))
    table.run(1.0)
    table.direct(MissesOf(table.asker(), "b.1", [(PA, 1.5, [(1, 2)])], ["b"], "b:1", table.key))
    ((_, answer),) = table.directs()
    assert isinstance(answer, Repair)
    assert (answer.events, answer.gone, answer.old) == ([], [(PA, [(2, 2)])], [(PA, [(1, 1)])])
