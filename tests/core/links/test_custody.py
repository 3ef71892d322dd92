"""Custody: nobody says *settled* before all that it has caused is in the hands of the next hops."""

from __future__ import annotations

from reknit.core.io import RemoveLink
from reknit.trace.records import Kind
from reknit.wire.messages import Events, Leave, Sub
from tests.core.desk import Desk, FarEnd, event, pattern


def _line() -> tuple[Desk, FarEnd, FarEnd]:
    """The broker between ``n``, which sends, and ``m``, which wants everything."""
    desk = Desk("n", "m")
    sender, receiver = desk.linked("n", 1), desk.linked("m", 2, pattern("#"))
    sender.ack()
    desk.run(0.1)
    sender.forget()
    return desk, sender, receiver


def _settled(desk: Desk, sender: FarEnd) -> int:
    desk.run(0.05)
    sender.ack()
    return max(ack.settled for ack in sender.acks())


def test_settled_waits_for_the_next_hop() -> None:
    desk, sender, receiver = _line()
    sender.say(Events([event("a", 1, "n.1")]))
    assert _settled(desk, sender) == sender.seq - 1
    assert [ack.received for ack in sender.acks()][-1] == sender.seq
    receiver.ack(settled=receiver.got - 1)
    assert _settled(desk, sender) == sender.seq - 1
    receiver.ack()
    assert _settled(desk, sender) == sender.seq


def test_what_goes_nowhere_is_settled_at_once() -> None:
    desk, sender, _ = _line()
    sender.say(Sub([pattern("a")]))
    assert _settled(desk, sender) == sender.seq


def test_frames_settle_in_their_order() -> None:
    """A later frame that goes nowhere does not overtake an earlier one that is under way."""
    desk, sender, receiver = _line()
    sender.say(Events([event("a", 1, "n.1")]))
    sender.say(Sub([pattern("a")]))
    assert _settled(desk, sender) == sender.seq - 2
    receiver.ack()
    assert _settled(desk, sender) == sender.seq


def test_all_copies_count() -> None:
    desk, sender, receiver = _line()
    third = desk.linked("l", 3, pattern("#"))
    sender.ack()
    desk.run(0.05)
    sender.forget()
    sender.say(Events([event("a", 1, "n.1"), event("b", 2, "n.1")]))
    receiver.ack()
    before = _settled(desk, sender)
    third.ack()
    assert before == sender.seq - 1
    assert _settled(desk, sender) == sender.seq


def test_a_published_event_is_settled_when_its_copies_are() -> None:
    desk, _, receiver = _line()
    desk.publish(event("a"))
    assert desk.records(Kind.SETTLED) == []
    receiver.ack()
    assert [record.event.topic for record in desk.records(Kind.SETTLED) if record.event] == ["a"]


def test_a_link_that_is_gone_releases_what_waited_for_it() -> None:
    desk, sender, receiver = _line()
    sender.say(Events([event("a", 1, "n.1")]))
    receiver.ack(settled=receiver.got - 1)
    desk.give(RemoveLink("m", 1))
    receiver.say(Leave())
    receiver.ack(settled=receiver.got - 2)
    assert list(desk.broker.table()["neighbours"]) == ["n"]
    assert _settled(desk, sender) == sender.seq


def test_all_that_is_settled_behind_an_older_frame_is_told_and_not_only_the_first() -> None:
    """Frames that wait for each other in a circle of brokers would wait for ever."""
    desk = Desk("n", "m", links={"overdue_frames_max": 2})
    sender, receiver = desk.linked("n", 1), desk.linked("m", 2, pattern("#"))
    sender.ack()
    desk.run(0.1)
    sender.forget()
    sender.say(Events([event("a", 1, "n.1")]))
    first, held = sender.seq, receiver.got - 1
    for _ in range(7):
        sender.say(Sub([pattern("a")]))
    told: set[int] = set()
    for _ in range(24):
        desk.run(0.25)
        receiver.ack(settled=held)
        sender.ack()
        told |= {seq for ack in sender.acks() for seq in ack.beyond}
    assert told == set(range(first + 1, first + 8))
