"""From a wish to moves: what brokers have to be asked for, one after another.

Owns: the strategies by name, and the checks that refuse a wish before anything is locked, with the nearest valid
command. Must not know: doors. A *move* is one request at one broker; whatever a strategy needs is in its body. The
brokers check again, for the tree may have changed since it was looked at.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from reknit.cli._changes.view import View
from reknit.cli._problem import BadInput
from reknit.core.overlay.shapes import Edge, adjacency, find_path
from reknit.core.overlay.swap import NoReplacement, Step, after, plan_replacement, why_no_swap

__all__ = ["STRATEGIES", "Move", "Plan", "plan_link", "plan_swap", "plan_undo"]


@dataclass(frozen=True, slots=True)
class Move:
    """``at`` is asked for ``body``. ``step`` is the same as a swap."""

    at: str
    body: dict[str, Any]
    title: str
    step: Step


@dataclass(frozen=True, slots=True)
class Plan:
    title: str
    """What is wanted, as a command."""
    moves: tuple[Move, ...]
    of: str = ""
    """The id of the whole, where it has several moves."""

    @property
    def links(self) -> tuple[Edge, Edge]:
        """The link that goes, and the one that comes: in between, one link slides along the tree."""
        first, last = self.moves[0].step, self.moves[-1].step
        return (first.mover, first.middle), (last.mover, last.goal)

    @property
    def brokers(self) -> list[str]:
        """Whom it touches."""
        return sorted({name for move in self.moves for name in move.step})


def _by_swaps(edges: Sequence[Edge], steps: Sequence[Step], title: str) -> Plan:
    of = f"replace.{secrets.token_hex(4)}" if len(steps) > 1 else ""
    moves = []
    for step in steps:
        if why := why_no_swap(edges, step):
            raise BadInput(f"{title}: {why}{_nearest_swap(edges, step)}")
        edges = after(edges, step)
        body = {"kind": "swap", "middle": step.middle, "goal": step.goal, "of": of}
        moves.append(Move(step.mover, body, f"swap {' '.join(step)}", step))
    return Plan(title, tuple(moves), of)


# --- one swap


def plan_swap(view: View, step: Step) -> Plan:
    view.check(*step)
    view.answers(step.mover, step.middle)
    return _by_swaps(view.edges, [step], f"swap {' '.join(step)}")


def _nearest_swap(edges: Sequence[Edge], step: Step) -> str:
    """The command that comes nearest to a swap that is none, as the end of a sentence."""
    mover, middle, goal = step
    path = find_path(edges, mover, goal)
    if len(path) == len(Step._fields):
        return f"; try: reknit swap {' '.join(path)}"
    if len(path) > len(Step._fields):
        return f"; try: reknit link replace {path[0]} {path[1]} --with {mover} {goal}"
    if len(path) == 2 and not why_no_swap(edges, step.inverse):
        return f"; to change that: reknit swap {' '.join(step.inverse)}"
    others = (Step(mover, near, far) for near, far in _hops(edges, mover) if middle in (near, mover, goal))
    some = next((other for other in others if not why_no_swap(edges, other)), None)
    return f"; try: reknit swap {' '.join(some)}" if some else ""


def _hops(edges: Sequence[Edge], name: str) -> list[Edge]:
    """Each neighbour, with each of its own."""
    adjacent = adjacency(edges)
    return [(near, far) for near in sorted(adjacent.get(name, ())) for far in sorted(adjacent[near]) if far != name]


# --- one link for another


def _swap_strategy(view: View, old: Edge, new: Edge, title: str) -> Plan:
    plan = _by_swaps(view.edges, plan_replacement(view.edges, old, new), title)
    view.answers(*(move.at for move in plan.moves))
    return plan


Strategy = Callable[[View, Edge, Edge, str], Plan]

STRATEGIES: dict[str, Strategy] = {"swap": _swap_strategy}
"""How a link can be replaced, by name. Each raises ``NoReplacement`` where the tree would not stay one."""


def plan_link(view: View, old: Edge, new: Edge, strategy: str) -> Plan:
    if strategy not in STRATEGIES:
        raise BadInput(f"--strategy: there is no strategy {strategy!r}; there are: {', '.join(STRATEGIES)}")
    view.check(*old, *new)
    title = f"link replace {' '.join(old)} --with {' '.join(new)}"
    try:
        return STRATEGIES[strategy](view, old, new, title)
    except NoReplacement as refused:
        raise BadInput(f"link replace: {refused}{_nearest_replacement(view.edges, old, new)}") from None


def _nearest_replacement(edges: Sequence[Edge], old: Edge, new: Edge) -> str:
    """Which link can make room for the new one? One of those that it would close a cycle with."""
    path = find_path(edges, *new)
    if new[0] != new[1] and not path:
        return f"; try: reknit link add {' '.join(new)}"
    around = [edge for edge in pairwise(path) if set(edge) != set(new)]
    if len(around) < 2:
        return ""
    near = [edge for edge in around if set(edge) & set(old)] or around
    return f"; try: reknit link replace {' '.join(near[0])} --with {' '.join(new)}"


# --- back


def plan_undo(view: View, title: str, done: Sequence[Step]) -> Plan:
    """The inverses, last first."""
    steps = [step.inverse for step in reversed(done)]
    view.check(*(name for step in steps for name in step))
    view.answers(*(step.mover for step in steps))
    return _by_swaps(view.edges, steps, title)
