"""Carrying out a plan of the tree, swap after swap, and taking it back.

Owns: how far a plan is carried out, seen from the tree that there is. Must not know: how a swap is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from reknit.cli._changes.plans import Plan as Moves
from reknit.cli._changes.plans import plan_swaps
from reknit.cli._changes.run import Manner, run
from reknit.cli._changes.view import View
from reknit.cli._plans.watch import Watch, watch_tree
from reknit.cli._problem import BadInput
from reknit.core.overlay.swap import Step
from reknit.planning.plan import Plan, trees_of
from reknit.planning.tree import Link

__all__ = ["apply_tree", "undo_tree"]


def apply_tree(plan: Plan, file: str, watch: Watch, manner: Manner) -> None:
    title, steps = f"plan apply {file}", _steps(plan)

    def moves(view: View) -> Moves:
        if done := _done(plan, view.edges):
            how = f"go back with: reknit plan undo {file}"
            raise BadInput(f"{title}: {done} of {len(steps)} steps are carried out already; {how}")
        return plan_swaps(view, title, plan.before, steps)

    afterwards = (lambda: watch_tree(plan, file, watch)) if watch.wanted else None
    run(manner, lambda _, view: moves(view), afterwards)


def undo_tree(plan: Plan, file: str, manner: Manner) -> None:
    """What is carried out of it is taken back, be it all or not: a plan may have stopped half-way."""
    title, steps = f"plan undo {file}", _steps(plan)

    def back(view: View) -> Moves:
        done = _done(plan, view.edges)
        if done == 0:
            raise BadInput(f"{title}: the tree is as it was before the plan; there is nothing to take back")
        done = len(steps) if done is None else done  # if the tree is none of the plan's, that is said
        return plan_swaps(view, title, trees_of(plan)[done], [step.inverse for step in reversed(steps[:done])])

    run(manner, lambda _, view: back(view))


def _done(plan: Plan, edges: Sequence[Link]) -> int | None:
    """How many steps lead to this tree; None if it is none of the plan's. No two are the same: each costs less."""
    now = tuple(sorted(edges))
    return next((number for number, links in enumerate(trees_of(plan)) if links == now), None)


def _steps(plan: Plan) -> list[Step]:
    return [Step(step.mover, step.middle, step.goal) for step in plan.steps]
