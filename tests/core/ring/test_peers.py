from __future__ import annotations

import random

from reknit.core.io import Dial
from reknit.core.links.links import Links, Stranger, TurnedAway
from reknit.core.links.options import LinkOptions
from reknit.core.ring.peers import Gone, Peers
from reknit.core.turn import Turn
from reknit.wire.messages import Hello, Refuse
from reknit.wire.ring import Poll, Ringed

WORD = Ringed(1, 1, 7, Poll((7, "a", "a:1")))


def peers(**options: int) -> Peers:
    turn = Turn("a", observing=True)
    return Peers(turn, Links(turn, "a:1", 1, "rendezvous", LinkOptions(**options), random.Random(1)), lost_s=3.0)


def test_a_link_is_made_when_there_is_something_to_say_and_dialled_at_once() -> None:
    here = peers()
    here.say("z", "z:1", WORD)  # a greater name would be waited for on a tree
    here.links.due()
    assert here.turn.effects == [Dial("z", "z:1")]
    here.say("z", "z:1", WORD)
    assert list(here.links.of) == ["z"]


def test_not_beyond_a_bound_nor_without_an_address() -> None:
    here = peers(neighbours_max=1)
    assert here.link("y") is None
    here.say("z", "z:1", WORD)
    assert here.link("y", "y:1") is None
    assert here.link("z") is not None


def test_one_that_stays_out_of_reach_is_gone_and_may_come_again() -> None:
    here = peers()
    here.say("z", "z:1", WORD)
    assert here.deadline() == 3.0
    assert list(here.due()) == []
    here.turn.now = 3.0
    assert list(here.due()) == [Gone("z", "out of reach for 3 s", [])]
    assert here.links.of == {}
    hello = Hello(1, "rendezvous", "z", "z:1", 1, 0, 0, True, None)
    assert here.links.former.refusal(hello) is None


def test_who_wants_to_join_a_tree_is_refused_and_who_refuses_for_good_is_gone() -> None:
    here = peers()
    here.links.accepted(1)
    assert list(here.on_link_event(Stranger(1, Hello(1, "", "z", "", 1, 0, 0, False, ("z", 1))))) == []
    assert not here.links.is_open(1)
    here.say("z", "z:1", WORD)
    assert list(here.on_link_event(TurnedAway("z", Refuse("not now", True, False)))) == []
    assert list(here.on_link_event(TurnedAway("z", Refuse("never", False, False)))) == [Gone("z", "never", [])]
