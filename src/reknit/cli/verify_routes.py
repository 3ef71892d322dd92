"""``reknit verify-routes``: what each broker's table should be, beside what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from reknit.cli._problem import Failed

if TYPE_CHECKING:
    from reknit.core.routing.ideal import Tables

__all__ = ["compare", "line_of", "register", "verify_routes"]

EXIT_DIFFERENT = 1

BESIDE = ("before", "behind")
"""Faults of a broker on a ring."""


def register(app: typer.Typer) -> None:
    app.command("verify-routes", short_help="Compare every table with the ideal one.")(verify_routes)


def verify_routes(
    admin: Annotated[list[str], typer.Option(metavar="URL", help="An operator's door; give one for each broker.")] = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Compute every broker's ideal table from all subscriptions, and print the difference. Exit code 1 if there is one.

    Of brokers on a ring it says, too, who has not the right ones before and behind it: then the ring is not one.

    The tables are not all read in the same moment, so a network that is just changing may show differences that pass.

    Example: reknit verify-routes
    """
    from reknit.cli._operator import Operator

    with Operator(admin) as operator:
        tables = {table["name"]: table for table in operator.all("/table")}
    differences = compare(tables)
    entries = sum(len(_routes(table)) for table in tables.values())
    if as_json:
        import json

        typer.echo(json.dumps({"brokers": len(tables), "entries": entries, "differences": differences}, indent=2))
    else:
        for each in differences:
            typer.echo(line_of(each))
        typer.echo(f"{len(tables)} brokers, {entries} entries, {len(differences)} differences")
    if differences:
        raise typer.Exit(EXIT_DIFFERENT)


def line_of(each: dict[str, str]) -> str:
    if each["fault"] in BESIDE:
        found = each["found"] or "nobody"
        return f"{each['broker']}: {each['fault']} it on the ring is {found}, not {each['neighbour']}"
    where = f" WHERE {each['selector']}" if each["selector"] else ""
    return f"{each['broker']}: {each['fault']}: to {each['neighbour']}, {each['topic']}{where}"


def compare(tables: dict[str, dict[str, Any]]) -> list[dict[str, str]]:
    """Each entry that a broker lacks (``missing``) or should not have (``stale``), in the order of names.

    On a ring, before these, each broker that has another one before or behind it than the ids of all say.
    """
    ideal = _ideal(tables)
    differences = _apart({name: table["ring"] for name, table in tables.items() if "ring" in table})
    for name in sorted(tables):
        real = _routes(tables[name])
        for fault, entries in (("missing", ideal[name] - real), ("stale", real - ideal[name])):
            differences += [
                {
                    "broker": name,
                    "fault": fault,
                    "neighbour": neighbour,
                    "topic": pattern.topic,
                    "selector": pattern.selector,
                }
                for neighbour, pattern in sorted(entries)
            ]
    return differences


def _apart(rings: dict[str, dict[str, Any]]) -> list[dict[str, str]]:
    order, found = sorted(rings, key=lambda name: rings[name]["id"]), []
    for place, name in enumerate(order):
        nearest = {"before": rings[name]["before"], "behind": next(iter(rings[name]["behind"]), "")}
        for fault, step in zip(BESIDE, (-1, 1), strict=True):
            right = order[(place + step) % len(order)]
            if nearest[fault] != (right if right != name else ""):
                found.append({"broker": name, "fault": fault, "neighbour": right, "found": nearest[fault]})
    return sorted(found, key=lambda each: each["broker"])


def _ideal(tables: dict[str, dict[str, Any]]) -> Tables:
    from reknit.core.routing.ideal import NoForest, ideal_tables
    from reknit.model.pattern import Pattern

    if any(table["routing"] == "rendezvous" for table in tables.values()):
        return _ideal_on_ring(tables)
    edges = set()
    for name, table in tables.items():
        for neighbour in table["neighbours"]:
            if neighbour not in tables:
                raise Failed(f"{name} is linked with {neighbour}, whose operator's door is not known; give its --admin")
            edges.add((min(name, neighbour), max(name, neighbour)))
    wanted = {
        name: [Pattern(each["topic"], each["selector"]) for each in table["entries"] if each["kind"] == "client"]
        for name, table in tables.items()
    }
    any_table = next(iter(tables.values()))
    try:
        return ideal_tables(sorted(edges), wanted, any_table["routing"], any_table["covering"])
    except NoForest as error:
        raise Failed(f"no tables are ideal: {error}") from None


def _ideal_on_ring(tables: dict[str, dict[str, Any]]) -> Tables:
    from reknit.model.pattern import Pattern
    from reknit.planning.ring import NoRing
    from reknit.planning.trees import ideal_trees

    for name, table in tables.items():
        for other in (table["ring"]["before"], *table["ring"]["behind"]):
            if other and other not in tables:
                raise Failed(f"{name} is on a ring with {other}, whose operator's door is not known; give its --admin")
    ids = {name: table["ring"]["id"] for name, table in tables.items()}
    try:
        trees = ideal_trees(ids, {name: table["ring"]["wanted"] for name, table in tables.items()})
    except NoRing as error:
        raise Failed(f"no trees are ideal: {error}") from None
    return {name: {(hop, Pattern(topic)) for hop, topic in hops} for name, hops in trees.items()}


def _routes(table: dict[str, Any]) -> set[tuple[str, Any]]:
    from reknit.model.pattern import Pattern

    if table["routing"] == "rendezvous":
        return {(hop, Pattern(topic)) for topic, hops in table["ring"]["children"].items() for hop in hops}
    return {
        (each["hop"], Pattern(each["topic"], each["selector"])) for each in table["entries"] if each["kind"] != "client"
    }
