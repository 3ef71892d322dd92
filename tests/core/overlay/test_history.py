"""What a broker remembers of changes: each of the three its part, retries as one, and no more than the bound."""

from __future__ import annotations

from typing import Any

import pytest

from reknit.core.io import Reply, SwapLink
from reknit.core.overlay import history as module
from reknit.core.overlay.history import REPLACE, SWAP, Deed, History, change_name, waits_for
from reknit.core.overlay.notes import Part, Stage, SwapNote
from reknit.core.turn import Turn
from reknit.model.pattern import Pattern
from reknit.wire.messages import LockNack
from tests.core.desk import Desk

DEED = Deed(SWAP, ("a", "b", "c"))


def shown(desk: Desk) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = desk.broker.table()["changes"]["history"]
    return found


def test_the_inverse_of_the_inverse_is_the_change() -> None:
    assert DEED.inverse == Deed(SWAP, ("a", "c", "b"))
    assert DEED.inverse.inverse == DEED


def test_a_change_is_counted_ends_once_and_can_be_undone_only_when_it_was_done() -> None:
    turn = Turn("a", observing=False)
    history = History(turn)
    for name in ("done", "failed"):
        history.begin(name, DEED, "mover", of="larger")
        history.sent(name, 7)
        history.sent(name, 5)
    turn.now = 2.5
    history.end("done")
    history.end("failed", "busy")
    turn.now = 9.0
    history.end("failed", "another reason")
    done, failed = history.shown()
    assert done == {
        "id": "done",
        "kind": "swap",
        "brokers": ["a", "b", "c"],
        "part": "mover",
        "begun": 0.0,
        "ended": 2.5,
        "error": "",
        "of": "larger",
        "messages": 2,
        "bytes": 12,
        "undo": {"kind": "swap", "brokers": ["a", "c", "b"]},
    }
    assert (failed["ended"], failed["error"], failed["undo"]) == (2.5, "busy", None)


def test_the_oldest_go_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHANGES_MAX", 2)
    history = History(Turn("a", observing=False))
    for name in ("1", "2", "3"):
        history.begin(name, DEED, "mover")
    assert [each["id"] for each in history.shown()] == ["2", "3"]


def test_a_name_can_be_typed() -> None:
    assert change_name(("b1", (1 << 48) | 0xABC)) == "b1.000000000abc"


@pytest.mark.parametrize(
    ("part", "stage", "facts", "whom"),
    [
        (Part.MOVER, Stage.LOCKED, {}, "middle"),
        (Part.MOVER, Stage.OPEN, {}, "middle"),
        (Part.MOVER, Stage.FLOOD, {}, "goal"),
        (Part.MOVER, Stage.MOVED, {}, "middle"),
        (Part.MIDDLE, Stage.LOCKED, {}, "goal"),
        (Part.MIDDLE, Stage.FLOOD, {}, "mover"),
        (Part.GOAL, Stage.LOCKED, {}, "mover"),
        (Part.GOAL, Stage.FLOOD, {}, "middle"),
        (Part.GOAL, Stage.FLOOD, {"opened": True}, "middle"),
        (Part.GOAL, Stage.FLOOD, {"opened": True, "closed_ab": True}, "mover"),
    ],
)
def test_who_is_waited_for(part: Part, stage: Stage, facts: dict[str, bool], whom: str) -> None:
    assert waits_for(SwapNote(("mover", 1), "middle", "goal", "", part, stage, **facts)) == whom


def test_a_refused_try_is_the_same_change_until_it_is_answered() -> None:
    desk = Desk("m")
    middle = desk.linked("m", 1, Pattern.parse("t", ""))
    desk.give(SwapLink("m", "g", 5, "of"))
    under_way = desk.broker.table()["changes"]["under_way"]
    assert (under_way["stage"], under_way["waits_for"], under_way["since"]) == ("locked", "m", 0.0)
    lock = middle.heard()[0]
    middle.say(LockNack(lock.id, "m is busy", retry=True))  # type: ignore[union-attr]
    (first,) = shown(desk)
    assert (first["error"], first["ended"], first["of"], first["messages"]) == ("m is busy", None, "of", 1)
    assert desk.broker.table()["changes"]["waiting"] == [
        {"kind": "swap", "brokers": ["b", "m", "g"], "since": 0.0, "why": "m is busy"}
    ]
    desk.run(2.0)
    again = middle.heard()[-1]
    middle.say(LockNack(again.id, "g is no neighbour of m", retry=False))  # type: ignore[union-attr]
    (last,) = shown(desk)
    assert (last["error"], last["begun"], last["ended"]) == ("g is no neighbour of m", 0.0, desk.now)
    assert last["id"] != first["id"]
    assert desk.all(Reply) == [Reply(5, "g is no neighbour of m", last["id"])]


def test_a_replacement_has_an_inverse_that_leads_back_along_the_same_path() -> None:
    deed = Deed(REPLACE, ("A", "E", "C", "D", "B"), "path", 2)
    assert str(deed) == "link replace A B --with C D --strategy path"
    assert deed.inverse == Deed(REPLACE, ("C", "E", "A", "B", "D"), "path", 2)
    assert str(deed.inverse) == "link replace C D --with A B --strategy path"
    assert deed.inverse.inverse == deed
