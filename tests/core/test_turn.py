"""A turn: effects in their order, and all observations of it in one effect at its end."""

from __future__ import annotations

from reknit.core.io import Close, Observe
from reknit.core.turn import Turn
from reknit.trace.records import Kind, Record


def test_observations_come_last_and_together() -> None:
    turn = Turn("b", observing=True)
    turn.now = 2.5
    turn.see(Kind.LINK_UP, peer="n")
    turn.effects.append(Close(1, "done"))
    turn.see(Kind.LINK_DOWN, peer="n", detail="done")
    assert turn.end() == [
        Close(1, "done"),
        Observe([Record(2.5, "b", Kind.LINK_UP, peer="n"), Record(2.5, "b", Kind.LINK_DOWN, peer="n", detail="done")]),
    ]


def test_what_was_seen_is_given_once() -> None:
    turn = Turn("b", observing=True)
    turn.see(Kind.LINK_UP, peer="n")
    turn.end()
    turn.effects = []
    assert turn.end() == []


def test_nothing_is_seen_where_nobody_looks() -> None:
    turn = Turn("b", observing=False)
    turn.see(Kind.LINK_UP, peer="n")
    assert turn.end() == []
