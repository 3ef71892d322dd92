"""Leaving says so behind everything else, and ends even if nobody answers."""

from __future__ import annotations

from reknit.core.io import Drain, Ended, Lost, Remember, RemoveLink, Reply
from reknit.core.overlay.options import OverlayOptions, RepairOptions
from reknit.trace.records import Kind
from reknit.wire.messages import Events, Leave, Sub, Welcome
from tests.core.desk import Desk, FarEnd, event, pattern


def _linked(**options: object) -> tuple[Desk, FarEnd]:
    desk = Desk("n", **options)
    return desk, desk.linked("n", 1, pattern("#"))


def test_a_leave_travels_behind_what_was_sent_before_and_is_answered() -> None:
    desk, far = _linked()
    desk.publish(event("a"))
    desk.give(RemoveLink("n", 5))
    assert [type(message) for message in far.heard()] == [Events, Leave]
    assert desk.all(Reply) == []
    far.got -= 1
    far.say(Leave())
    assert desk.all(Reply) == []  # not before it has received ours
    far.ack()
    assert desk.all(Reply) == [Reply(5, "")]
    assert far.closed == "left"
    assert desk.broker.table()["neighbours"] == {}


def test_events_on_their_way_to_us_still_count_after_we_have_left() -> None:
    desk, far = _linked()
    desk.client("ann", pattern("#"))
    desk.give(RemoveLink("n", 5))
    far.say(Events([event("late", 1, "n.1")]), Leave())
    assert desk.deliveries() == [("late", "ann")]


def test_what_a_neighbour_that_is_left_wants_does_not_count() -> None:
    desk, far = _linked()
    desk.give(RemoveLink("n", 5))
    far.say(Sub([pattern("b")]))
    desk.publish(event("b"))
    assert desk.broker.table()["entries"] == []
    assert not any(isinstance(message, Events) for message in far.heard())


def test_a_leave_from_the_other_end_is_answered_with_one() -> None:
    desk, far = _linked()
    far.say(Leave())
    assert far.heard() == [Leave()]
    assert [record.detail for record in desk.records(Kind.LINK_REMOVED)] == ["left by the other end"]
    far.ack()
    assert desk.broker.table()["neighbours"] == {}
    assert desk.broker.table()["entries"] == []


def test_a_leave_twice_is_a_leave() -> None:
    desk, far = _linked()
    far.say(Leave(), Leave())
    far.say(Leave())
    far.ack()
    assert desk.broker.table()["neighbours"] == {}
    assert len(desk.records(Kind.LINK_REMOVED)) == 1


def test_both_may_leave_at_once() -> None:
    desk, far = _linked()
    desk.give(RemoveLink("n", 5))
    far.say(Leave())
    far.ack()
    assert desk.all(Reply) == [Reply(5, "")]
    assert len(desk.records(Kind.LINK_REMOVED)) == 1


def test_everyone_who_asked_for_the_removal_is_answered() -> None:
    desk, far = _linked()
    desk.give(RemoveLink("n", 5))
    desk.give(RemoveLink("n", 6))
    far.say(Leave())
    far.ack()
    assert desk.all(Reply) == [Reply(5, ""), Reply(6, "")]


def test_a_neighbour_that_does_not_answer_is_left_on_this_side() -> None:
    desk, far = _linked(overlay=OverlayOptions(leave_s_max=10.0))
    desk.give(RemoveLink("n", 5))
    for _ in range(11):
        desk.run(1.0)
        far.ack(received=0)
    assert desk.all(Reply) == [Reply(5, "n did not answer; left on this side only")]
    assert desk.broker.table()["neighbours"] == {}


def test_a_next_life_does_not_begin_with_a_neighbour_that_is_being_left() -> None:
    desk, _ = _linked()
    desk.give(RemoveLink("n", 5))
    assert desk.all(Remember)[-1].neighbours == {}


def test_a_leave_survives_the_neighbours_death() -> None:
    desk, far = _linked()
    desk.give(RemoveLink("n", 5))
    desk.give(Lost(1, "reset"))
    next_life = desk.far_end("n", 2)
    hello = next_life.greet(incarnation=2)
    assert hello is not None
    assert not hello.linked
    assert next_life.heard() == [Leave()]
    next_life.say(Leave())
    next_life.ack()
    assert desk.all(Reply) == [Reply(5, "")]
    assert far.closed is None


def test_one_that_waits_in_patience_does_not_wait_for_a_neighbour_that_is_lost() -> None:
    desk = Desk("n", repair=RepairOptions(lost_s=60.0))
    far = desk.linked("n", 1)
    desk.give(Drain(7))
    far.say(Welcome("", ""))
    far.ack()
    assert far.heard()[-1] == Leave()
    desk.give(Lost(1, "reset"))
    desk.run(50.0)
    assert desk.all(Ended) == []
    desk.run(11.0)
    assert desk.all(Ended) == [Ended()]


def test_one_that_waits_in_patience_for_a_neighbour_out_of_reach_does_not_wait_for_ever() -> None:
    desk = Desk("n", overlay=OverlayOptions(drained_s_max=40.0))
    far = desk.linked("n", 1)
    desk.give(Drain(7))
    far.say(Welcome("", ""))
    far.ack()
    assert far.heard()[-1] == Leave()
    desk.give(Lost(1, "reset"))
    desk.run(39.0)
    assert desk.all(Ended) == []
    desk.run(2.0)
    assert desk.all(Ended) == [Ended()]


def test_a_next_life_does_not_wait_for_ever_to_say_that_the_one_before_has_left() -> None:
    desk = Desk("n", leaves=True, overlay=OverlayOptions(drained_s_max=40.0))
    desk.run(39.0)
    assert desk.all(Ended) == []
    desk.run(2.0)
    assert desk.all(Ended) == [Ended()]


def test_but_for_a_client_that_has_come_since_it_waits() -> None:
    desk = Desk("n", leaves=True, overlay=OverlayOptions(drained_s_max=40.0))
    desk.client("ann", pattern("a"))
    desk.run(90.0)
    assert desk.all(Ended) == []
    assert list(desk.broker.table()["neighbours"]) == ["n"]
