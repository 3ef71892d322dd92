"""``reknit places``: let brokers on a ring change places while events flow."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from reknit.cli._flags import AdminFlag, DryRunFlag, JsonFlag
from reknit.cli._problem import BadInput, Failed

__all__ = ["circle_plan", "places", "register", "ring_of"]


def register(app: typer.Typer) -> None:
    app.command("places", short_help="Let brokers on a ring change places while events flow.")(places)


def places(
    brokers: Annotated[list[str], typer.Argument(metavar="BROKER...", help="Each goes where the next one is.")],
    dry_run: DryRunFlag = False,
    admin: AdminFlag = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Let two brokers on a ring change places, or more in a circle. Nothing is lost, doubled or out of order.

    All brokers of the ring take part, so all their doors are needed. The first one that is named is the manager.

    Example: reknit places b1 b3 --dry-run
    """
    from reknit.cli._operator import Operator

    if len(brokers) < 2 or len(set(brokers)) < len(brokers):
        raise BadInput("places: name at least two brokers, each once")
    with Operator(admin) as operator:
        rings = {table["name"]: ring_of(table) for table in operator.all("/table")}
        if unknown := [name for name in brokers if name not in rings]:
            raise BadInput(f"places: there is no broker {unknown[0]}; there are {', '.join(sorted(rings))}")
        body = circle_plan(rings, brokers)
        said = {} if dry_run else operator.change("POST", "/places", body, at=brokers[0])
    _print(rings, brokers, body, str(said.get("change", "")), as_json)


def ring_of(table: dict[str, Any]) -> dict[str, Any]:
    """What a broker tells of its ring; ``Failed`` if it is on none."""
    if "ring" not in table:
        raise Failed(f"{table['name']} routes by {table['routing']}, and is on no ring")
    ring: dict[str, Any] = table["ring"]
    return ring


def circle_plan(rings: dict[str, dict[str, Any]], brokers: list[str]) -> dict[str, Any]:
    """What the operators' door is told, so that each of these goes where the next one is, and the last to the first."""
    goals = {one: rings[other]["id"] for one, other in zip(brokers, brokers[1:] + brokers[:1], strict=True)}
    planned = [
        {"name": name, "address": ring["address"], "id": goals.get(name, ring["id"]), "was": ring["id"]}
        for name, ring in sorted(rings.items())
    ]
    return {"base": rings[brokers[0]]["version"], "places": planned}


def _print(
    rings: dict[str, dict[str, Any]], brokers: list[str], body: dict[str, Any], version: str, as_json: bool
) -> None:
    import json

    from reknit.planning.change import change_cost

    topics = {topic for ring in rings.values() for topic in ring["wanted"]}
    messages = change_cost(len(rings), len(topics), len(brokers))
    if as_json:
        typer.echo(json.dumps({**body, "messages_max": messages, "version": version}, indent=2))
        return
    for one, other in zip(brokers, brokers[1:] + brokers[:1], strict=True):
        typer.echo(f"{one}: from {rings[one]['id']} to {rings[other]['id']}, where {other} is")
    typer.echo(f"{len(rings)} brokers take part, {len(brokers)} change places; {messages:.0f} messages by Equation 7")
    typer.echo(f"done: version {version}" if version else "nothing was changed")
