"""A plan while it is carried out: what is done, what is left on the tree that there is, and the words to say how far.

Trees change under a plan: by another operator, or by a repair. What a chain of moves is after does not change by that,
and is written down in words with the id under which brokers remember its moves. So what is left of it can be found on
any tree, by whoever began it, or by somebody else after him (``reknit change resume``).

Owns: a chain's state, and what is left of it. Must not know: doors, or what is tried how often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from reknit.cli._changes.plans import Move, Plan, ends, new_id, plan_drain, swaps
from reknit.cli._changes.view import View
from reknit.cli._problem import BadInput
from reknit.core.overlay.history import DRAIN, REPLACE, SWAP, Deed
from reknit.core.overlay.shapes import Edge, adjacency
from reknit.core.overlay.swap import NoReplacement, Step, plan_replacement, why_no_swap

__all__ = ["Chain", "is_made", "what_is_left"]


@dataclass(slots=True)
class Chain:
    plan: Plan
    left: list[Move]
    done: list[Deed]
    of: str
    ids: list[str] = field(default_factory=list)
    """Of the moves that this command has made, as far as they are known."""
    asked: bool = False
    """Somebody is asked for the next move, and has not answered."""

    @staticmethod
    def begin(plan: Plan) -> Chain:
        return Chain(plan, list(plan.moves), list(plan.done), plan.of)

    @property
    def can_be_planned_anew(self) -> bool:
        return bool(self.plan.goal) or self.total > 1

    @property
    def total(self) -> int:
        return len(self.done) + len(self.left)

    @property
    def known_as(self) -> str:
        """What brokers remember with each move: the id, and behind it what the whole is after."""
        return f"{self.of} {self.plan.goal}".rstrip() if self.of else ""

    def made(self, name: str) -> None:
        """The next move, under this id, if it is known."""
        self.done.append(self.left.pop(0))
        if name:
            self.ids.append(name)

    def plan_anew(self, view: View) -> None:
        """``BadInput`` if there is no way on this tree, ``Failed`` if one of those to be asked does not answer."""
        left = what_is_left(view, self.plan, self.done)
        view.answers(*(move.brokers[0] for move in left if move.kind == SWAP))
        self.left = left
        if self.total > 1 and not self.of:
            self.of = new_id("replace", self.total)

    # --- in words

    @property
    def progress(self) -> str:
        return f"{len(self.done) + 1} of {self.total}: {self.left[0]}"

    @property
    def how_far(self) -> str:
        """Where it stands, and the commands for both ways; empty if nothing was changed."""
        if not self.done and not self.asked:
            return ""
        asked = f"; {self.left[0]} may be asked for, and its brokers then go on with it" if self.asked else ""
        if not self.of:
            back = "" if self.done else f"; see: reknit change list; to go back then: reknit {self.left[0].inverse}"
            return f"{asked}{back}"
        on = f"to go on: reknit change resume {self.of}; " if self.plan.goal else ""
        steps = f"{len(self.done)} of {self.total} steps are done"
        return f"; {steps}{asked}; the tree is whole; {on}to go back: reknit change undo {self.of}"


def what_is_left(view: View, plan: Plan, done: Sequence[Deed]) -> list[Move]:
    """The moves that the plan still takes on this tree; ``BadInput`` if it cannot be reached."""
    match plan.goal.split():
        case ["link", "replace", a, b, "--with", c, d]:
            return _slide(view, plan.title, ends(done[-1])[1] if done else (a, b), (c, d))
        case ["broker", "drain", name, *to]:
            return _drain(view, name, to[-1] if to else "", done)
        case _:
            return _as_planned(view, plan, len(done) - len(plan.done))


def _slide(view: View, title: str, now: Edge, goal: Edge) -> list[Move]:
    if set(now) == set(goal) and set(now) in [set(edge) for edge in view.edges]:
        return []
    try:
        return swaps(plan_replacement(view.edges, now, goal))
    except NoReplacement as refused:
        raise BadInput(f"{title}: {refused}") from None


def _drain(view: View, name: str, heir: str, done: Sequence[Deed]) -> list[Move]:
    if (done and done[-1].kind == DRAIN) or name not in view.names:
        return []
    before = done[-1].brokers[2] if done else ""
    favourite = before if before in adjacency(view.edges).get(name, ()) else ""
    return list(plan_drain(view, name, heir or favourite).moves)


def _as_planned(view: View, plan: Plan, count: int) -> list[Move]:
    left = list(plan.moves[count:])
    if left and left[0].kind == SWAP and (why := why_no_swap(view.edges, Step(*left[0].brokers))):
        raise BadInput(f"{plan.title}: {why}")
    return left


def is_made(view: View, move: Move) -> bool:
    """Is the tree as it is after this move, though nobody has said that it is made?"""
    if move.kind in (SWAP, REPLACE):
        links = [set(edge) for edge in view.edges]
        old, new = ends(move)
        return set(new) in links and set(old) not in links
    return move.kind == DRAIN and move.brokers[0] not in view.names
