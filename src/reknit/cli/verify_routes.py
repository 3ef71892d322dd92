"""``reknit verify-routes``: what each broker's table should be, beside what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from reknit.cli._problem import Failed

if TYPE_CHECKING:
    from reknit.core.routing.ideal import Tables

__all__ = ["compare", "register", "verify_routes"]

EXIT_DIFFERENT = 1


def register(app: typer.Typer) -> None:
    app.command("verify-routes", short_help="Compare every table with the ideal one.")(verify_routes)


def verify_routes(
    admin: Annotated[list[str], typer.Option(metavar="URL", help="An operator's door; give one for each broker.")] = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Compute every broker's ideal table from all subscriptions, and print the difference. Exit code 1 if there is one.

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
            where = f" WHERE {each['selector']}" if each["selector"] else ""
            typer.echo(f"{each['broker']}: {each['fault']}: to {each['neighbour']}, {each['topic']}{where}")
        typer.echo(f"{len(tables)} brokers, {entries} entries, {len(differences)} differences")
    if differences:
        raise typer.Exit(EXIT_DIFFERENT)


def compare(tables: dict[str, dict[str, Any]]) -> list[dict[str, str]]:
    """Each entry that a broker lacks (``missing``) or should not have (``stale``), in the order of names."""
    ideal = _ideal(tables)
    differences = []
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
