"""What a next life finds of sessions on their way: as long as it is of use, and not longer."""

from __future__ import annotations

from reknit.core.io import DropAside, DropMove, KeepAside, KeepMove
from reknit.core.shares.asides import Asides
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.model.pattern import Pattern

A = Pattern.parse("a")
SURE, PLAIN = Event("a", qos=1), Event("a")


def test_what_was_put_aside_is_kept_in_its_order_until_it_is_somewhere_else() -> None:
    turn = Turn("b", False, keeping=True)
    asides = Asides(turn)
    asides.put("ann", SURE, (A,))
    asides.put("bob", SURE, (A,), "group")
    asides.put("ann", PLAIN, (A,))  # at QoS 0 nobody was told that it was taken
    asides.put("ann", SURE, (A,))
    assert turn.effects == [
        KeepAside("ann", 1, SURE, (A,)),
        KeepAside("bob", 2, SURE, (A,), "group"),
        KeepAside("ann", 3, SURE, (A,)),
    ]
    turn.effects = []
    asides.clear("ann")
    asides.clear("ann")
    assert turn.effects == [DropAside("ann", (1, 3))]


def test_a_move_is_kept_until_it_is_over_and_what_was_put_aside_goes_with_it() -> None:
    turn = Turn("b", False, keeping=True)
    asides = Asides(turn)
    asides.begin("ann", "n", 4, came=False)
    asides.put("ann", SURE, (A,))
    turn.effects = []
    asides.end("ann")
    asides.end("ann")
    assert turn.effects == [DropAside("ann", (1,)), DropMove("ann")]


def test_entries_of_a_life_before_are_dropped_by_this_one_and_their_numbers_not_used_again() -> None:
    turn = Turn("b", False, keeping=True)
    asides = Asides(turn)
    asides.recall([KeepAside("ann", 7, SURE, (A,))], [KeepMove("ann", "n", 4, came=True)])
    asides.put("bob", SURE, (A,))
    asides.end("ann")
    assert turn.effects == [KeepAside("bob", 8, SURE, (A,)), DropAside("ann", (7,)), DropMove("ann")]


def test_without_a_store_nothing_is_said() -> None:
    turn = Turn("b", False)
    asides = Asides(turn)
    asides.begin("ann", "n", 4, came=False)
    asides.put("ann", SURE, (A,))
    asides.end("ann")
    assert turn.effects == []
