"""Carrying a plan out: one move after another, with a line when one takes long; and looking at the routes afterwards.

Owns: the order, and the lines on standard error. Must not know: what a move means.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import msgspec
import typer

from reknit.cli._changes.plans import Move, Plan
from reknit.cli._operator import Operator
from reknit.cli._problem import Failed
from reknit.cli.verify_routes import compare

__all__ = ["Done", "Routes", "carry_out", "verify"]

LONG_S = 1.0
"""A move that takes longer is asked how far it is, so often."""
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
            typer.echo(f"{number} of {len(plan.moves)}: {move.title}", err=True)
        try:
            changes.append(_carry_out(operator, move)["change"])
        except Failed as error:
            raise Failed(f"{error}{_how_far(plan, changes)}") from None
    return Done(changes, time.monotonic() - begun)


def _how_far(plan: Plan, changes: list[str]) -> str:
    if not changes:
        return ""
    left = f"{len(changes)} of {len(plan.moves)} steps are done"
    return f"; {left}, the tree is whole; go back with: reknit change undo {plan.of}"


def _carry_out(operator: Operator, move: Move) -> dict[str, Any]:
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(operator.change, "POST", "/changes", move.body, move.at)
        _until_answered(asked, operator, move)
        return asked.result()


def _until_answered(asked: Future[dict[str, Any]], operator: Operator, move: Move) -> None:
    """Say what it waits for, each time that this changes."""
    begun, last = time.monotonic(), ""
    while not _over(asked, LONG_S):
        now = _state(operator, move)
        if now != last:
            typer.echo(f"  {time.monotonic() - begun:.0f} s  {now}", err=True)
        last = now


def _over(asked: Future[dict[str, Any]], within_s: float) -> bool:
    try:
        asked.exception(within_s)
    except TimeoutError:
        return False
    return True


def _state(operator: Operator, move: Move) -> str:
    try:
        said = operator.get(move.at, "/changes")
    except Failed as error:
        return str(error)
    if (each := said["under_way"]) is not None:
        return f"{move.at}: {each['stage']}, waits for {each['waits_for']}"
    return next((f"{move.at} will try again: {each['why']}" for each in said["waiting"]), f"{move.at} answers soon")


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
