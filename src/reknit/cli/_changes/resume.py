"""Going on with a chain of moves that was broken off: by whoever began it, or by somebody else.

Brokers remember with each move the id of the whole and what it is after. That is enough: the moves that were made tell
where it stands, and what is left is planned on the tree as it is now.

Owns: finding the chain, and what can be done where it is not known any more. Must not know: how it is carried out.
"""

from __future__ import annotations

from dataclasses import replace

from reknit.cli._changes.calm import calm, remembered, until_over
from reknit.cli._changes.chain import what_is_left
from reknit.cli._changes.plans import Move, Plan
from reknit.cli._changes.told import deeds_of, find
from reknit.cli._operator import Operator
from reknit.cli._problem import BadInput

__all__ = ["plan_resume"]

UNDO = "change undo "


def plan_resume(operator: Operator, name: str) -> Plan:
    """``BadInput`` where nothing is left of it, or where it is not known what it was after."""
    of = _whole(operator, name)
    until_over(operator, of)
    steps = find(remembered(operator), of)
    goal, title = next((told.goal for told in steps if told.goal), ""), f"change resume {of}"
    done = tuple(told.deed for told in steps if told.undo)
    if not goal:
        raise BadInput(f"{title}: what it was after is not known; to go back: reknit change undo {of}")
    view = calm(operator, ())
    plan = Plan(title, _behind(_as_planned(operator, goal), done), of, goal=goal, done=done)
    if not (moves := what_is_left(view, plan, done)):
        raise BadInput(f"{title}: nothing is left of it: {goal} is done")
    view.answers(*(move.brokers[0] for move in moves))
    return replace(plan, moves=tuple(moves))


def _as_planned(operator: Operator, goal: str) -> tuple[Move, ...]:
    """Of an undo that is more than one link sliding back: all moves that it had when it began."""
    if not goal.startswith(UNDO):
        return ()
    return tuple(deed.inverse for deed in reversed(deeds_of(find(remembered(operator), goal.removeprefix(UNDO)))))


def _behind(planned: tuple[Move, ...], done: tuple[Move, ...]) -> tuple[Move, ...]:
    """What comes after the last that is known to be done: those before it are, too, though who made one may be gone."""
    place = 0
    for move in done:
        if move in planned[place:]:
            place = planned.index(move, place) + 1
    return planned[place:]


def _whole(operator: Operator, name: str) -> str:
    found = find(remembered(operator), name, "resume")[0]
    if not found.of:
        raise BadInput(f"change resume {found.id}: that is one step, which brokers carry through by themselves")
    return found.of
