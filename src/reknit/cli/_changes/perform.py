"""Carrying a plan out: one move after another, with a line when one takes long; and looking at the routes afterwards.

Owns: the order, and the lines on standard error. Must not know: how a move is made (see ``moves``).
"""

from __future__ import annotations

import time

import msgspec
import typer

from reknit.cli._changes.moves import make
from reknit.cli._changes.plans import Plan
from reknit.cli._operator import Operator
from reknit.cli._problem import Failed
from reknit.cli.verify_routes import compare

__all__ = ["Done", "Routes", "carry_out", "verify"]

SETTLE_S_MAX = 5.0
SETTLE_POLL_S = 0.1


class Done(msgspec.Struct, frozen=True):
    changes: list[str]
    """The ids."""
    seconds: float


def carry_out(operator: Operator, plan: Plan) -> Done:
    """``Failed`` says what was done before, and how to go back."""
    begun, changes = time.monotonic(), list[str]()
    for number, move in enumerate(plan.moves, 1):
        if len(plan.moves) > 1:
            typer.echo(f"{number} of {len(plan.moves)}: {move}", err=True)
        try:
            changes.append(make(operator, move, plan.of))
        except Failed as error:
            raise Failed(f"{error}{_how_far(plan, changes)}") from None
    return Done(changes, time.monotonic() - begun)


def _how_far(plan: Plan, changes: list[str]) -> str:
    if not changes:
        return ""
    left = f"{len(changes)} of {len(plan.moves)} steps are done"
    return f"; {left}, the tree is whole; go back with: reknit change undo {plan.of}"


class Routes(msgspec.Struct, frozen=True):
    brokers: int
    differences: list[dict[str, str]]


def verify(operator: Operator) -> Routes:
    """Compare tables with the ideal ones; differences that pass within a moment are none."""
    limit = time.monotonic() + SETTLE_S_MAX
    while True:
        tables = {table["name"]: table for table in operator.all("/table")}
        differences = compare(tables)
        if not differences or time.monotonic() > limit:
            return Routes(len(tables), differences)
        time.sleep(SETTLE_POLL_S)
