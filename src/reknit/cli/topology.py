"""``reknit topology``: who is linked with whom, now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.tree import Tree

__all__ = ["edges_of", "register", "topology"]

EXIT_SILENT = 1


def register(app: typer.Typer) -> None:
    app.command("topology", short_help="Show who is linked with whom.")(topology)


def topology(
    admin: Annotated[
        list[str], typer.Option(metavar="URL", help="An operator's door; may be given several times.")
    ] = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show the network as a tree, as its brokers see it now. Exit code 1 if one of them does not answer.

    Example: reknit topology
    """
    from reknit.cli._operator import Operator

    with Operator(admin) as operator:
        answers = operator.ask("/topology")
    brokers = [each.said for each in answers if each.said is not None]
    silent = [each for each in answers if each.said is None]
    if as_json:
        import json

        names = [each.name or each.error for each in silent]
        typer.echo(json.dumps({"brokers": brokers, "links": edges_of(brokers), "silent": names}, indent=2))
    else:
        _draw(brokers, [each.name for each in silent if each.name])
    for each in silent:
        typer.echo(f"reknit: {each.error}", err=True)
    if silent:
        raise typer.Exit(EXIT_SILENT)


def _draw(brokers: list[dict[str, Any]], silent: list[str]) -> None:
    from rich.console import Console

    console = Console(soft_wrap=True, markup=False, highlight=False)
    for tree in _trees(brokers, silent):
        console.print(tree)
    for broker in brokers:
        for name, why in broker.get("waiting_for", {}).items():
            if name not in broker["neighbours"]:
                console.print(f"{broker['name']} waits for {name}{f': {why}' if why else ''}")
    asked = {*(broker["name"] for broker in brokers), *silent}
    if behind := sorted({other for broker in brokers for other in broker["neighbours"]} - asked):
        typer.echo(f"not asked, nor what is behind: {', '.join(behind)}; give an --admin for each", err=True)


def edges_of(brokers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each link once, in the order of names; it is up if every end that was asked says so."""
    up: dict[tuple[str, str], bool] = {}
    for broker in brokers:
        for other, link in broker["neighbours"].items():
            edge = (min(broker["name"], other), max(broker["name"], other))
            up[edge] = up.get(edge, True) and link["up"]
    return [{"a": a, "b": b, "up": state} for (a, b), state in sorted(up.items())]


def _trees(brokers: list[dict[str, Any]], silent: list[str]) -> list[Tree]:
    """One tree for each part of the network, each rooted at its first broker."""
    from rich.tree import Tree

    labels = {broker["name"]: f"{broker['name']}  mqtt {broker['mqtt']}" for broker in brokers}
    labels.update((name, f"{name}  (does not answer)") for name in silent)
    why = _reasons(brokers)
    adjacent: dict[str, dict[str, bool]] = {name: {} for name in labels}
    for edge in edges_of(brokers):
        adjacent.setdefault(edge["a"], {})[edge["b"]] = edge["up"]
        adjacent.setdefault(edge["b"], {})[edge["a"]] = edge["up"]
    seen: set[str] = set()
    trees = []
    for root in adjacent:
        if root in seen:
            continue
        seen.add(root)
        trees.append(Tree(labels.get(root, root)))
        stack = [(root, trees[-1])]
        while stack:
            name, branch = stack.pop()
            for other, up in adjacent[name].items():
                if other not in seen:
                    seen.add(other)
                    link = "" if up else f"  (link down{why.get(frozenset((name, other)), '')})"
                    stack.append((other, branch.add(labels.get(other, other) + link)))
    return trees


def _reasons(brokers: list[dict[str, Any]]) -> dict[frozenset[str], str]:
    """Why a link is down, in the words of the first end that has some."""
    found: dict[frozenset[str], str] = {}
    for broker in brokers:
        for other, link in broker["neighbours"].items():
            if not link["up"] and link.get("last"):
                found.setdefault(frozenset((broker["name"], other)), f": {link['last']}")
    return found
