"""``reknit topology``: who is linked with whom, now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.tree import Tree

__all__ = ["edges_of", "register", "topology"]


def register(app: typer.Typer) -> None:
    app.command("topology")(topology)


def topology(
    admin: Annotated[
        list[str], typer.Option(metavar="URL", help="An operator's door; may be given several times.")
    ] = [],  # noqa: B006
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show the network as a tree, as its brokers see it now.

    Example: reknit topology
    """
    from reknit.cli._operator import Operator

    with Operator(admin) as operator:
        brokers = operator.all("/topology")
    if as_json:
        import json

        typer.echo(json.dumps({"brokers": brokers, "links": edges_of(brokers)}, indent=2))
        return
    from rich.console import Console

    for tree in _trees(brokers):
        Console(soft_wrap=True).print(tree)


def edges_of(brokers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each link once, in the order of names; it is up if every end that was asked says so."""
    up: dict[tuple[str, str], bool] = {}
    for broker in brokers:
        for other, link in broker["neighbours"].items():
            edge = (min(broker["name"], other), max(broker["name"], other))
            up[edge] = up.get(edge, True) and link["up"]
    return [{"a": a, "b": b, "up": state} for (a, b), state in sorted(up.items())]


def _trees(brokers: list[dict[str, Any]]) -> list[Tree]:
    """One tree for each part of the network, each rooted at its first broker."""
    from rich.tree import Tree

    known = {broker["name"]: broker for broker in brokers}
    adjacent: dict[str, dict[str, bool]] = {name: {} for name in known}
    for edge in edges_of(brokers):
        adjacent.setdefault(edge["a"], {})[edge["b"]] = edge["up"]
        adjacent.setdefault(edge["b"], {})[edge["a"]] = edge["up"]
    seen: set[str] = set()
    trees = []
    for root in adjacent:
        if root in seen:
            continue
        seen.add(root)
        trees.append(Tree(_label(known.get(root), root, True)))
        stack = [(root, trees[-1])]
        while stack:
            name, branch = stack.pop()
            for other, up in adjacent[name].items():
                if other not in seen:
                    seen.add(other)
                    stack.append((other, branch.add(_label(known.get(other), other, up))))
    return trees


def _label(broker: dict[str, Any] | None, name: str, up: bool) -> str:
    where = f"  mqtt {broker['mqtt']}" if broker else ""
    return f"{name}{where}{'' if up else '  (link down)'}"
