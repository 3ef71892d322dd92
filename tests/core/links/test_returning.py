from __future__ import annotations

from reknit.core.links.custody import Custody
from reknit.core.links.options import LinkOptions
from reknit.core.links.returning import ReturningLink
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.wire.messages import Hello, Up
from reknit.wire.ring import Poll, Ringed

WORD = Ringed(1, 1, 7, Poll((7, "a", "a:1")))


def hello(incarnation: int = 1) -> Hello:
    return Hello(1, "rendezvous", "b", "b:1", incarnation, 0, 0, True, None)


def linked() -> ReturningLink:
    return ReturningLink(Turn("a", observing=False), "b", "b:1", LinkOptions())


def up(seq: int) -> Up:
    return Up(1, [7], [Event("t", source="a.1", seq=seq)], [0])


def test_what_was_said_before_the_first_session_is_said_in_it() -> None:
    link = linked()
    link.send(WORD)
    link.send_steered(up(1), [Custody(None, 0, [])], 10)
    link.flush()
    link.bind(1)
    link.renew(hello(), 5)
    assert not link.again
    assert link.returned() == []
    assert link.carries_events


def test_what_was_not_settled_comes_back_when_the_far_end_has_forgotten() -> None:
    link, custody = linked(), Custody(None, 0, [])
    link.bind(1)
    link.renew(hello(), 5)
    link.send(WORD)
    link.send_steered(up(1), [custody], 10)
    link.flush()
    assert custody.pending == 2
    link.bind(2)
    link.renew(hello(2), 6)
    assert link.again
    assert link.returned() == [([up(1)], [custody])]
    assert link.returned() == []
    assert custody.pending == 2  # whoever takes it back lets it go
    assert link.idle  # words are not said again: who says them knows that they are void


def test_and_when_the_link_ends() -> None:
    link, custody = linked(), Custody(None, 0, [])
    link.send_steered(up(1), [custody], 10)
    link.end()
    assert link.returned() == [([up(1)], [custody])]
