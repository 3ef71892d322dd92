"""Carrying out a plan of placement, some sessions at a time, and taking it back.

Owns: who is to move yet, seen from where clients are, and that it stops at the first surprise. Must not know: how a
session moves. Clients come and go while a plan lies in its file: one that has gone is passed over, and counted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import typer

from reknit.cli._changes.cost import wanted_of
from reknit.cli._changes.perform import verify
from reknit.cli._changes.run import EXIT_DIFFERENT, Manner
from reknit.cli._operator import Operator
from reknit.cli._problem import BadInput, Failed
from reknit.cli.places import ring_of
from reknit.planning.placement_plan import SESSION_MESSAGES, ClientMove, PlacementPlan
from reknit.planning.result import surprise_of

__all__ = ["apply_placement", "undo_placement"]

AT_ONCE = 8
"""Sessions that are asked to move at the same time."""
REFUSED_S_MAX = 15.0
"""A client whose wishes have not settled, or that has only just come, can move a moment later."""
REFUSED_POLL_S = 0.5


@dataclass(slots=True)
class _Task:
    title: str
    moves: list[ClientMove] = field(default_factory=list)
    there: int = 0
    """Clients that are where they are to be."""
    gone: list[str] = field(default_factory=list)


def apply_placement(plan: PlacementPlan, file: str, surprise: float, manner: Manner) -> None:
    title = f"plan apply {file}"
    _run(title, _listed(plan, title), f"go on with: reknit plan apply {file}", manner, (plan, surprise))


def undo_placement(plan: PlacementPlan, file: str, manner: Manner) -> None:
    title = f"plan undo {file}"
    back = [ClientMove(step.client, step.goal, step.start) for step in reversed(_listed(plan, title))]
    _run(title, back, f"go on with: reknit plan undo {file}", manner)


def _listed(plan: PlacementPlan, title: str) -> list[ClientMove]:
    if not plan.steps:
        live = "brokers carry such a placement out by themselves: set [options.placement] update_s above 0"
        raise BadInput(f"{title}: the plan counts {plan.moves:,} moves, too many to list them; {live}")
    return plan.steps


def _run(
    title: str,
    moves: Sequence[ClientMove],
    how: str,
    manner: Manner,
    expected: tuple[PlacementPlan, float] | None = None,
) -> None:
    begun = time.monotonic()
    with Operator(manner.admin) as operator:
        tables = _look(operator)
        task = _task(title, moves, tables)
        if not task.moves:
            gone = f"; {len(task.gone)} are gone" if task.gone else ""
            raise BadInput(f"{title}: there is nothing to do: {task.there} clients are where they are to be{gone}")
        if manner.dry_run:
            _print_dry(task, manner.as_json)
            return
        before = _wanted(tables)
        _move_all(operator, task, tables, how)
        routes = None if manner.verify is False else verify(operator)
        measured = _wanted(_look(operator))
    document: dict[str, Any] = {"done": True, "moved": len(task.moves), "there_before": task.there, "gone": task.gone}
    document |= {"topics_before": before, "topics_measured": measured, "seconds": time.monotonic() - begun}
    lines = [f"{len(task.moves)} sessions moved in {document['seconds']:.2f} s{_passed_over(task)}"]
    if routes is not None:
        document["differences"] = routes.differences
        lines.append(f"{routes.brokers} brokers, {len(routes.differences)} differences between trees and ideal ones")
    found = ""
    said = f"topics that brokers subscribe to: {before:,} before"
    if expected is not None:
        plan, off_max = expected
        found = surprise_of("topics that brokers subscribe to", plan.cost_before, plan.cost_after, measured, off_max)
        document |= {"topics_predicted": plan.cost_after, "surprise": found}
        said += f", predicted {plan.cost_after:,}"
    lines.append(f"{said}, measured {measured:,}")
    if found:
        lines.append(f"a surprise: {found}")
    for line in [json.dumps(document, indent=2)] if manner.as_json else lines:
        typer.echo(line)
    if found or (routes is not None and routes.differences):
        raise typer.Exit(EXIT_DIFFERENT)


def _task(title: str, moves: Sequence[ClientMove], tables: dict[str, dict[str, Any]]) -> _Task:
    at = _places(tables)
    task = _Task(title)
    for move in moves:
        for name in (move.start, move.goal):
            if name not in tables:
                raise BadInput(f"{title}: the ring is another than the plan was made for: {name} is not there")
        match at.get(move.client):
            case None:
                task.gone.append(move.client)
            case here if here == move.goal:
                task.there += 1
            case here if here == move.start:
                task.moves.append(move)
            case here:
                raise BadInput(f"{title}: {move.client} is at {here}, and the plan knows it at {move.start}")
    return task


def _print_dry(task: _Task, as_json: bool) -> None:
    messages = SESSION_MESSAGES * len(task.moves)
    if as_json:
        steps = [[move.client, move.start, move.goal] for move in task.moves]
        told = {"dry_run": True, "steps": steps, "messages_min": messages, "there": task.there, "gone": task.gone}
        typer.echo(json.dumps(told, indent=2))
        return
    for move in task.moves:
        typer.echo(f"  {move.client}  from {move.start} to {move.goal}")
    typer.echo(f"about {messages:,} messages at least{_passed_over(task)}; nothing was changed")


def _passed_over(task: _Task) -> str:
    there = f"; {task.there} were there before" if task.there else ""
    return there + (f"; {len(task.gone)} are gone" if task.gone else "")


def _move_all(operator: Operator, task: _Task, tables: dict[str, dict[str, Any]], how: str) -> None:
    """``Failed`` says how far it is."""
    rings = {name: ring_of(table) for name, table in tables.items()}
    spots = {name: {"name": name, "address": ring["address"], "id": ring["id"]} for name, ring in rings.items()}
    done = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for start in range(0, len(task.moves), AT_ONCE):
            some = task.moves[start : start + AT_ONCE]
            typer.echo(f"{done + len(some)} of {len(task.moves)}: {some[-1].client} to {some[-1].goal}", err=True)
            errors = [why for why in pool.map(lambda move: _move(operator, move, spots[move.goal]), some) if why]
            done += len(some) - len(errors)
            if errors:
                raise Failed(f"{task.title}: {errors[0]}; {done} of {len(task.moves)} sessions have moved; {how}")


def _move(operator: Operator, move: ClientMove, spot: dict[str, Any]) -> str:
    """Why it has not moved; empty if it has, or its client is gone."""
    limit = time.monotonic() + REFUSED_S_MAX
    while True:
        try:
            operator.change("POST", "/moves", {"client": move.client, **spot}, at=move.start)
            return ""
        except Failed as error:
            here = _places(_look(operator)).get(move.client, move.goal)
            if here == move.goal:
                return ""
            if here != move.start or time.monotonic() > limit:
                return str(error)
        time.sleep(REFUSED_POLL_S)


def _look(operator: Operator) -> dict[str, dict[str, Any]]:
    tables = {table["name"]: table for table in operator.all("/table")}
    for table in tables.values():
        ring_of(table)
    return tables


def _places(tables: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {client: name for name, table in tables.items() for client in table["clients"]}


def _wanted(tables: dict[str, dict[str, Any]]) -> int:
    """Topics that brokers subscribe to for their clients, in all."""
    return sum(len({pattern.topic for pattern in wanted_of(table)}) for table in tables.values())
