"""What a plan will take: the messages that brokers will send for it, and their bytes.

Computed from the brokers' tables, with the words and the codec that the brokers use; for the second step and those
behind it, from the tables that they will have then. It is an estimate all the same: subscriptions may change before
the plan is carried out, a swap that collides with another is tried again, and one in which a broker dies says more.
Greetings and acknowledgements of the new connection are not counted.

Owns: the estimate. Must not know: doors, or how a plan was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from reknit.cli._changes.plans import Plan
from reknit.cli._changes.view import View
from reknit.core.overlay.shapes import Edge, find_path
from reknit.core.overlay.swap import Step, after, swap_messages
from reknit.core.routing.announcements import without_covered
from reknit.core.routing.base import chunks
from reknit.core.routing.ideal import ideal_tables
from reknit.model.pattern import Pattern
from reknit.wire.codec import encode
from reknit.wire.messages import Entry, Hello, Release, Seek, Snapshot, Sought

__all__ = ["Cost", "estimate", "estimate_join"]


class Cost(msgspec.Struct, frozen=True):
    brokers: list[str]
    messages: int = 0
    bytes: int = 0


def estimate(view: View, plan: Plan, tables: dict[str, dict[str, Any]]) -> Cost:
    """``tables``: what each broker tells at ``/table``, as far as they are known."""
    edges: Sequence[Edge] = view.edges
    messages = size = 0
    for move in plan.moves:
        routing = tables[plan.moves[0].step.middle]["routing"]
        if len(plan.moves) > 1 or routing == "global-table":
            view.answers(*view.names)
        routes = _routes(tables[move.step.middle]) if edges is view.edges else _later(edges, move.step, tables)
        sides = _sides(edges, move.step, tables, routes)
        said = swap_messages(move.step, view.listens_at(move.step.mover), *sides)
        messages += len(said)
        size += sum(len(encode(message)) for message in said)
        edges = after(edges, move.step)
    return Cost(plan.brokers, messages, size)


def estimate_join(view: View, link: str, tables: dict[str, dict[str, Any]]) -> Cost:
    """A new broker is linked with ``link``: its tree is searched for cycles, and the new one is told what is wanted."""
    tree = [name for name in view.names if find_path(view.edges, link, name)] if link else []
    if not tree:
        return Cost([])
    wave = (link, 0)
    hops = [(Seek(wave, "", tree[:1]), Sought(wave, [], ""), Release(wave)) for _ in tree[1:]]
    hello = Hello(0, tables[link]["routing"], link, view.listens_at(link), 1 << 40, 1 << 47, 0, False, wave)
    said = [*(word for hop in hops for word in hop), *_snapshots(tree, link, tables)]
    size = sum(len(encode(word)) for word in (*said, hello, hello))
    return Cost(tree, len(said) + 2, size)


def _snapshots(tree: list[str], link: str, tables: dict[str, dict[str, Any]]) -> list[Snapshot]:
    """What the new one is told, and its own empty word."""
    table = tables[link]
    match table["routing"]:
        case "flooding":
            entries: list[Entry] = []
        case "global-table":
            entries = [(name, some) for name in tree for some in chunks(_wanted(tables[name]))]
        case _:
            patterns = dict.fromkeys([*_wanted(table), *(pattern for _, pattern in sorted(_routes(table)))])
            told = without_covered(patterns) if table["covering"] else list(patterns)
            entries = [("", some) for some in chunks(told)]
    told_new = [Snapshot([entry], False) for entry in entries] or [Snapshot([], True)]
    return [*told_new, Snapshot([], True)]


def _routes(table: dict[str, Any]) -> set[tuple[str, Pattern]]:
    """What its neighbours want."""
    entries = (each for each in table["entries"] if each["kind"] != "client")
    return {(each["hop"], Pattern(each["topic"], each["selector"])) for each in entries}


def _later(edges: Sequence[Edge], step: Step, tables: dict[str, dict[str, Any]]) -> set[tuple[str, Pattern]]:
    """The same of the middle, once the links are these."""
    wanted = {name: _wanted(table) for name, table in tables.items()}
    middle = tables[step.middle]
    return ideal_tables(edges, wanted, middle["routing"], middle["covering"])[step.middle]


def _sides(
    edges: Sequence[Edge], step: Step, tables: dict[str, dict[str, Any]], routes: set[tuple[str, Pattern]]
) -> tuple[list[Entry], list[Entry]]:
    """What travels: wanted behind the mover, and at the middle apart from both others."""
    match tables[step.middle]["routing"]:
        case "flooding":
            return [], []
        case "global-table":
            rest = [edge for edge in edges if set(edge) != {step.mover, step.middle}]
            behind = [name for name in tables if find_path(rest, step.mover, name) and _wanted(tables[name])]
            return [(name, []) for name in behind], []
    behind_mover = [pattern for hop, pattern in sorted(routes) if hop == step.mover]
    others = {pattern: None for hop, pattern in sorted(routes) if hop not in (step.mover, step.goal)}
    return [("", behind_mover)], [("", list(dict.fromkeys(_wanted(tables[step.middle])) | others))]


def _wanted(table: dict[str, Any]) -> list[Pattern]:
    """What its clients want."""
    entries = [each for each in table["entries"] if each["kind"] == "client"]
    return list(dict.fromkeys(Pattern(each["topic"], each["selector"]) for each in entries))
