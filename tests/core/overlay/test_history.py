"""What a broker remembers of changes: each of the three its part, retries as one, and no more than the bound."""

from __future__ import annotations

from typing import Any

import pytest

from reknit.core.io import KeepChange, Reply, SwapLink
from reknit.core.overlay import history as module
from reknit.core.overlay.history import ADD, REPLACE, SWAP, Deed, History, change_name, waits_for
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
        "unsure": False,
        "messages": 2,
        "bytes": 12,
        "undo": {"kind": "swap", "brokers": ["a", "c", "b"]},
    }
    assert (failed["ended"], failed["error"], failed["undo"]) == (2.5, "busy", None)


def test_what_was_given_up_when_it_had_begun_may_be_undone() -> None:
    """The tree says whether there is anything to go back on."""
    history = History(Turn("a", observing=False))
    history.begin("open", DEED, "first")
    history.end("open", "begun, but not known to be over", unsure=True)
    (told,) = history.shown()
    assert (told["unsure"], told["error"], told["undo"]["brokers"]) == (
        True,
        "begun, but not known to be over",
        ["a", "c", "b"],
    )


def test_the_first_link_of_a_new_broker_is_a_step_of_what_it_was_added_for() -> None:
    history = History(Turn("a", observing=False))
    history.part_of = "undo.1-2 change undo drain.1-2"
    history.note("a.1", Deed(ADD, ("a", "b")), "new")
    assert [each["of"] for each in history.shown()] == ["undo.1-2 change undo drain.1-2"]


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


# --- for the next life


def _kept(turn: Turn, history: History) -> list[KeepChange]:
    turn.effects = []
    history.flush()
    return [each for each in turn.effects if isinstance(each, KeepChange)]


def test_what_is_over_is_kept_as_it_is_then_and_comes_back() -> None:
    turn = Turn("a", observing=False, keeping=True)
    history = History(turn)
    history.begin("a.1", DEED, "mover", of="larger")
    history.sent("a.1", 7)
    assert _kept(turn, history) == []  # it is under way: for that there are notes
    turn.now = 2.0
    history.end("a.1")
    [first] = _kept(turn, history)
    history.sent("a.1", 5)
    [last] = _kept(turn, history)
    assert [each.record and each.record["bytes"] for each in (first, last)] == [7, 12]
    assert _kept(turn, history) == []
    assert last.record is not None
    again = History(Turn("a", observing=False, keeping=True))
    again.recall([last.record])
    assert again.shown() == history.shown()
    assert again.shown()[0]["undo"] == {"kind": "swap", "brokers": ["a", "c", "b"]}


def test_nobody_is_told_where_nobody_keeps() -> None:
    turn = Turn("a", observing=False)
    history = History(turn)
    history.note("a.1", DEED, "mover")
    assert _kept(turn, history) == []


def test_of_what_the_next_life_has_taken_up_it_knows_more() -> None:
    turn = Turn("a", observing=False, keeping=True)
    history = History(turn)
    for number, name in enumerate(("late", "early", "both")):
        turn.now = float(number)
        history.note(name, DEED, "mover")
    records = [each.record for each in _kept(turn, history) if each.record is not None]
    again = History(Turn("a", observing=False, keeping=True))
    again.begin("both", DEED, "mover")
    again.begin("new", DEED, "mover")
    again.recall(reversed(records))
    assert [(each["id"], each["ended"] is None) for each in again.shown()] == [
        ("late", False),
        ("early", False),
        ("both", True),
        ("new", True),
    ]


def test_what_is_forgotten_is_not_kept_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHANGES_MAX", 2)
    turn = Turn("a", observing=False, keeping=True)
    history = History(turn)
    for name in ("1", "2"):
        history.note(name, DEED, "mover")
    records = [each.record for each in _kept(turn, history) if each.record is not None]
    history.note("3", DEED, "mover")
    assert [(each.id, each.record is None) for each in _kept(turn, history)] == [("1", True), ("3", False)]
    history.begin("never over", DEED, "mover")
    history.forget("never over")
    assert [(each.id, each.record is None) for each in _kept(turn, history)] == [("2", True)]
    next_turn = Turn("a", observing=False, keeping=True)
    again = History(next_turn)
    again.begin("4", DEED, "mover")
    again.recall(records)
    assert [each["id"] for each in again.shown()] == ["2", "4"]
    assert _kept(next_turn, again) == [KeepChange("1", None)]
