"""What the verbs that change the tree have in common: look, plan, say what it will take or do it, and look again.

Owns: what is printed, as lines or as JSON. Must not know: what is wanted.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import typer

from reknit.cli._changes.cost import Cost, estimate
from reknit.cli._changes.perform import Done, Routes, carry_out, verify
from reknit.cli._changes.plans import Plan
from reknit.cli._changes.view import View, look
from reknit.cli._operator import Operator
from reknit.cli._problem import Failed
from reknit.core.overlay.history import ADD
from reknit.live.statefile import BrokerState

__all__ = ["EXIT_DIFFERENT", "Afterwards", "Manner", "run"]

EXIT_DIFFERENT = 1

NOT_COUNTED = "and, beyond this estimate, what waits in their queues and what is kept for recovery"


@dataclass(frozen=True, slots=True)
class Manner:
    """How it is to be done: the flags."""

    admin: list[str]
    dry_run: bool
    verify: bool | None
    """None: if all doors are known and answer."""
    as_json: bool


@dataclass(frozen=True, slots=True)
class Afterwards:
    """What was found when all was done: part of the one document, or lines of their own."""

    document: dict[str, Any]
    lines: list[str]
    surprise: bool
    """It is not as it was to be: the exit code says so."""


def run(
    manner: Manner,
    plan_for: Callable[[Operator, View], Plan],
    afterwards: Callable[[], Afterwards] | None = None,
) -> None:
    """``afterwards``: what else is to be looked at, once something was changed."""
    with Operator(manner.admin) as operator:
        view = look(operator)
        plan = plan_for(operator, view)
        if manner.dry_run:
            tables = {each.name: each.said for each in operator.ask("/table") if each.said is not None}
            _print_cost(plan, estimate(view, plan, tables), manner.as_json)
            return
        _announce(plan)
        done = carry_out(operator, plan)
        routes = _routes(operator, manner.verify)
    if not manner.as_json:
        _print_done(plan, done, routes, operator.added)
    found = Afterwards({}, [], False) if afterwards is None else afterwards()
    if manner.as_json:
        typer.echo(json.dumps({**_document(done, routes, operator.added), **found.document}, indent=2))
    else:
        for line in found.lines:
            typer.echo(line)
    unverified = manner.verify and routes is None
    if found.surprise or unverified or (routes is not None and routes.differences):
        raise typer.Exit(EXIT_DIFFERENT)


def _announce(plan: Plan) -> None:
    """That the only step begins; of several, each is announced when its turn comes, and so is a broker's start."""
    if len(plan.moves) == 1 and not plan.done and plan.moves[0].kind != ADD:
        typer.echo(f"1 of 1: {plan.moves[0]}", err=True)


def _routes(operator: Operator, wanted: bool | None) -> Routes | None:
    """Compare tables with the ideal ones, which takes all of them; None, with a word why, if that cannot be.

    What was done is done, whoever dies while it is compared.
    """
    if wanted is False:
        return None
    try:
        missing = [] if wanted else look(operator).unheard()
        if not missing:
            return verify(operator)
        why = f"{', '.join(missing)} {'does' if len(missing) == 1 else 'do'} not answer here"
    except Failed as error:
        why = str(error)
    typer.echo(f"routes were not compared, for {why}; later: reknit verify-routes", err=True)
    return None


def _steps(plan: Plan) -> list[str]:
    return [str(move) for move in plan.moves]


def _print_cost(plan: Plan, cost: Cost, as_json: bool) -> None:
    if as_json:
        document = {"dry_run": True, "steps": _steps(plan), **msgspec.to_builtins(cost)}
        typer.echo(json.dumps(document, indent=2))
        return
    typer.echo(plan.said(done=False))
    for step in _steps(plan):
        typer.echo(f"  {step}")
    typer.echo(f"touches {', '.join(cost.brokers)}")
    if cost.sessions is not None:
        typer.echo(f"moves {cost.sessions} sessions with {cost.subscriptions} subscriptions, {NOT_COUNTED}")
    also = cost.besides
    more = f", and for routes to follow {also.messages} messages, {also.bytes:,} bytes" if also is not None else ""
    typer.echo(f"takes about {cost.messages} messages, {cost.bytes:,} bytes{more} (estimate); nothing was changed")


def _document(done: Done, routes: Routes | None, added: list[BrokerState]) -> dict[str, Any]:
    document = {"done": True, **msgspec.to_builtins(done)}
    if routes is not None:
        document["differences"] = routes.differences
    if added:
        document["added"] = msgspec.to_builtins(added)
    return document


def _print_done(plan: Plan, done: Done, routes: Routes | None, added: list[BrokerState]) -> None:
    for broker in added:
        typer.echo(f"{broker.name} is ready: mqtt {broker.mqtt}, links {broker.listen}, admin {broker.admin}")
    typer.echo(f"{plan.said(done=True)} in {done.seconds:.2f} s: change {done.change or '(of unknown id)'}")
    if routes is not None:
        found, see = len(routes.differences), "; see: reknit verify-routes" if routes.differences else ""
        typer.echo(f"{routes.brokers} brokers, {found} differences between tables and ideal ones{see}")
