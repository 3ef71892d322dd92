"""The goal hears of the ends of ways in their order, whatever order they come in."""

from __future__ import annotations

from reknit.core.overlay.notes import Notes, Part, Stage, SwapNote, write_notes
from reknit.core.overlay.swap import ID_FLOOR
from reknit.trace.records import Kind
from reknit.wire.messages import Events, Open, Resent, Snapshot, Steered
from tests.core.desk import Desk, FarEnd, event, pattern
from tests.core.overlay.triple import Triple

ID = ("a", ID_FLOOR | 1)


def test_the_goal_opens_before_it_closes_in_every_schedule() -> None:
    early = 0
    for seed in range(40):
        cluster = Triple(f"stall {seed}", latency_s_max=0.3)
        cluster.swap("a", "b", "c")
        assert cluster.settle(60.0)
        steps = [record.detail for record in cluster.seen(Kind.CHANGE) if record.node == "c"]
        ends = [step.split(" at ")[0] for step in steps if "open" in step or "close" in step]
        assert ends == ["swap: open", "swap: close(ab)", "swap: close(ba)"]
        times = {record.detail: record.time for record in cluster.seen(Kind.CHANGE) if record.node == "c"}
        early += times["swap: open at the goal"] == times["swap: close(ab) at the goal"]
    assert early > 0  # it did come early now and then, and had to wait


def _new_life(name: str, part: Part, *neighbours: str) -> Desk:
    """Of one of the three, when the mover has moved, which it does not know."""
    note = SwapNote(ID, "b", "c", "a:1", part, Stage.FLOOD)
    return Desk(*neighbours, name=name, notes=write_notes(Notes(note)))


def _told(desk: Desk, name: str, conn: int, *words: Open, wants: str = "") -> FarEnd:
    end = desk.far_end(name, conn)
    end.greet(linked=name != "a")
    end.say(*words, Snapshot([("", [pattern(wants)] if wants else [])], last=True))
    return end


def test_a_middle_without_memory_says_that_the_mover_has_moved_before_it_tells_without_him() -> None:
    desk = _new_life("b", Part.MIDDLE, "a", "c", "y")
    goal = desk.far_end("c", 1)
    goal.greet()
    _told(desk, "y", 2, wants="y")
    mover = desk.far_end("a", 3)
    mover.greet(linked=False)
    goal.forget()
    mover.say(Open(ID, True))
    told = [each for each in goal.heard() if isinstance(each, Open | Snapshot)]
    assert told == [Open(ID, True), Snapshot([("", [pattern("y")])], last=True)]


def test_a_goal_without_memory_waits_for_the_mover_though_all_others_have_told() -> None:
    """The middle tells by the new tree already: what the mover's side wants, nobody else would say."""
    desk = _new_life("c", Part.GOAL, "a", "b", "z")
    mover = desk.far_end("a", 3)
    mover.greet(linked=False)
    mover.say(Resent())
    _told(desk, "b", 1, Open(ID, True), wants="b")
    outside = _told(desk, "z", 2)
    outside.say(Events([event("a", 1, "s.1")]))
    mover.say(Open(ID, True), Snapshot([("", [pattern("a")])], last=True))
    sent = [each for each in mover.heard() if isinstance(each, Events | Steered)]
    assert [each.topic for message in sent for each in message.events] == ["a"]
