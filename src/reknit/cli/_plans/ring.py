"""Carrying out a plan of the ring, one change of places after the other, and taking it back.

Owns: how far a plan is carried out, seen from the places that brokers have, and that it stops at the first surprise.
Must not know: how places are changed (``reknit places`` asks the same door for it).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import typer

from reknit.cli._changes.perform import verify
from reknit.cli._changes.run import EXIT_DIFFERENT, Afterwards, Manner
from reknit.cli._operator import Operator
from reknit.cli._plans.watch import Watch, watch_ring
from reknit.cli._problem import BadInput, Failed
from reknit.cli.places import circle_plan, ring_of
from reknit.planning.ring_plan import RingPlan, places_of

__all__ = ["apply_ring", "undo_ring"]

SETTLE_S_MAX = 15.0
"""Until all brokers have told that they are at their new places."""
SETTLE_POLL_S = 0.1

Circles = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class _Task:
    title: str
    before: dict[str, int]
    circles: Circles
    messages: int


def apply_ring(plan: RingPlan, file: str, watch: Watch, manner: Manner) -> None:
    title, circles = f"plan apply {file}", [step.brokers for step in plan.steps]

    def task(ids: dict[str, int]) -> _Task:
        if done := _done(plan, ids):
            how = f"go back with: reknit plan undo {file}"
            raise BadInput(f"{title}: {done} of {len(circles)} steps are carried out already; {how}")
        return _Task(title, plan.before, circles, plan.messages)

    afterwards = (lambda: watch_ring(plan, file, watch)) if watch.wanted else None
    _run(manner, task, f"go back with: reknit plan undo {file}", afterwards)


def undo_ring(plan: RingPlan, file: str, manner: Manner) -> None:
    title, circles = f"plan undo {file}", [step.brokers for step in plan.steps]

    def task(ids: dict[str, int]) -> _Task:
        done = _done(plan, ids)
        if done == 0:
            raise BadInput(f"{title}: brokers are where they were before the plan; there is nothing to take back")
        done = len(circles) if done is None else done  # if these places are none of the plan's, that is said
        back = [circle[::-1] for circle in reversed(circles[:done])]
        messages = sum(step.messages for step in plan.steps[:done])
        return _Task(title, places_of(plan.before, circles[:done]), back, messages)

    _run(manner, task, f"go on with: reknit plan undo {file}")


def _done(plan: RingPlan, ids: dict[str, int]) -> int | None:
    """How many steps lead to these places; None if they are none of the plan's."""
    circles = [step.brokers for step in plan.steps]
    return next((done for done in range(len(circles) + 1) if places_of(plan.before, circles[:done]) == ids), None)


def _run(
    manner: Manner,
    task_for: Callable[[dict[str, int]], _Task],
    how: str,
    afterwards: Callable[[], Afterwards] | None = None,
) -> None:
    begun = time.monotonic()
    with Operator(manner.admin) as operator:
        rings = _look(operator)
        task = task_for(_ids(rings))
        if surprise := _difference(task.before, _ids(rings)):
            raise BadInput(f"{task.title}: the ring is another than the plan was made for: {surprise}")
        if manner.dry_run:
            _print_dry(task, manner.as_json)
            return
        versions = _turn_all(operator, task, rings, how)
        routes = None if manner.verify is False else verify(operator)
    document = {"done": True, "steps": [list(circle) for circle in task.circles], "versions": versions}
    document |= {"messages_max": task.messages, "seconds": time.monotonic() - begun}
    lines = [f"{len(task.circles)} changes of places in {document['seconds']:.2f} s: version {versions[-1]}"]
    if routes is not None:
        document["differences"] = routes.differences
        lines.append(f"{routes.brokers} brokers, {len(routes.differences)} differences between trees and ideal ones")
    if not manner.as_json:
        typer.echo("\n".join(lines))
    found = Afterwards({}, [], False) if afterwards is None else afterwards()
    said = [json.dumps({**document, **found.document}, indent=2)] if manner.as_json else found.lines
    for line in said:
        typer.echo(line)
    if found.surprise or (routes is not None and routes.differences):
        raise typer.Exit(EXIT_DIFFERENT)


def _print_dry(task: _Task, as_json: bool) -> None:
    if as_json:
        steps = [list(circle) for circle in task.circles]
        typer.echo(json.dumps({"dry_run": True, "steps": steps, "messages_max": task.messages}, indent=2))
        return
    for circle in task.circles:
        typer.echo(f"  places {' '.join(circle)}")
    typer.echo(f"{task.messages:,} messages by Equation 7; nothing was changed")


def _turn_all(operator: Operator, task: _Task, rings: dict[str, dict[str, Any]], how: str) -> list[str]:
    """One change after the other; after each the ring is looked at. ``Failed`` says how far it is."""
    versions = list[str]()
    for number, circle in enumerate(task.circles, 1):
        if len(task.circles) > 1:
            typer.echo(f"{number} of {len(task.circles)}: places {' '.join(circle)}", err=True)
        left = f"; {len(versions)} of {len(task.circles)} steps are done; {how}" if versions else ""
        try:
            said = operator.change("POST", "/places", circle_plan(rings, list(circle)), at=circle[0])
        except Failed as error:
            raise Failed(f"{error}{left}") from None
        versions.append(str(said.get("change", "")))
        expected = places_of(task.before, task.circles[:number])
        rings = _until_settled(operator, expected, versions[-1])
        if surprise := _difference(expected, _ids(rings)):
            done = f"{number} of {len(task.circles)} steps are done"
            raise Failed(f"{task.title}: the ring is another than the plan expects: {surprise}; {done}; {how}")
    return versions


def _until_settled(operator: Operator, expected: dict[str, int], version: str) -> dict[str, dict[str, Any]]:
    """The ring as soon as all have the version, or as it is when that takes too long."""
    limit = time.monotonic() + SETTLE_S_MAX
    while True:
        rings = _look(operator)
        settled = _ids(rings) == expected and all(str(ring["version"]) == version for ring in rings.values())
        if settled or time.monotonic() > limit:
            return rings
        time.sleep(SETTLE_POLL_S)


def _look(operator: Operator) -> dict[str, dict[str, Any]]:
    return {table["name"]: ring_of(table) for table in operator.all("/table")}


def _ids(rings: dict[str, dict[str, Any]]) -> dict[str, int]:
    return {name: int(rings[name]["id"]) for name in sorted(rings)}


def _difference(expected: dict[str, int], found: dict[str, int]) -> str:
    """In words; empty if there is none."""
    for name in sorted({*expected, *found}):
        if name not in found:
            return f"{name} is not there"
        if name not in expected:
            return f"{name} is there, too"
        if expected[name] != found[name]:
            return f"{name} is at {found[name]}, not at {expected[name]}"
    return ""
