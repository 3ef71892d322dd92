"""What a plan will take: the messages that brokers will send for it, and their bytes.

Computed from the brokers' tables, with the words and the codec that the brokers use; for the second step and those
behind it, from the tables that they will have then. It is an estimate all the same: subscriptions may change before
the plan is carried out, a swap that collides with another is tried again, and one in which a broker dies says more.
Greetings and acknowledgements of the new connection are not counted.

What a replacement at once takes cannot be summed up in that way: it is rehearsed (see ``rehearsal``).

Owns: the estimate. Must not know: doors, or how a plan was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from reknit.cli._changes.plans import Move, Plan, tree_after
from reknit.cli._changes.rehearsal import rehearse
from reknit.cli._changes.view import View
from reknit.core.overlay.history import ADD, DRAIN, REPLACE
from reknit.core.overlay.shapes import Edge, find_path
from reknit.core.overlay.swap import Step, swap_messages
from reknit.core.routing.announcements import without_covered
from reknit.core.routing.base import chunks
from reknit.core.routing.ideal import ideal_tables
from reknit.model.pattern import Pattern
from reknit.wire.codec import encode
from reknit.wire.messages import (
    Draining,
    Entry,
    Frame,
    Hello,
    Leave,
    Message,
    Offer,
    Opened,
    Rest,
    Snapshot,
    Taken,
    Told,
    Welcome,
)

__all__ = ["Cost", "estimate", "wanted_of"]

Tables: TypeAlias = dict[str, dict[str, Any]]
"""What each broker tells at ``/table``, as far as they are known."""


class Cost(msgspec.Struct, frozen=True, omit_defaults=True):
    brokers: list[str]
    messages: int
    bytes: int
    sessions: int | None = None
    """That move, where some do. What waits in their queues is not counted, nor what the leaver keeps for recovery."""
    subscriptions: int | None = None
    besides: Besides | None = None


class Besides(msgspec.Struct, frozen=True):
    """What follows from a replacement, and is not counted as said about it: subscriptions, above all."""

    messages: int
    bytes: int


def estimate(view: View, plan: Plan, tables: Tables) -> Cost:
    edges: Sequence[Edge] = view.edges
    said: list[Message | Frame] = []
    if len(plan.moves) > 1 or plan.moves[0].kind == REPLACE or _routing(tables) == "global-table":
        view.answers(*view.names)
    if plan.moves[0].kind == REPLACE:
        return _rehearsed(view, plan, tables)
    for move in plan.moves:
        said += _SAID.get(move.kind, _swap)(view, edges, move, tables)
        edges = tree_after(edges, move)
        if move.kind == ADD:
            tables = {**tables, move.brokers[0]: {**tables[move.brokers[1]], "entries": [], "clients": []}}
    moved = [tables[move.brokers[0]] for move in plan.moves if move.kind == DRAIN]
    sessions = sum(len(table["clients"]) for table in moved) if moved else None
    subscriptions = sum(each["kind"] == "client" for table in moved for each in table["entries"]) if moved else None
    return Cost(plan.brokers, len(said), _bytes(said), sessions, subscriptions)


def _rehearsed(view: View, plan: Plan, tables: Tables) -> Cost:
    """A replacement at once is a plan of one move."""
    wanted, move = {name: wanted_of(table) for name, table in tables.items()}, plan.moves[0]
    table = next(iter(tables.values()))
    where = view.listens_at(move.ends[1][1])
    said = rehearse(view.edges, wanted, table["routing"], table["covering"], move, where)
    besides = Besides(len(said.besides), _bytes(said.besides))
    brokers = sorted({*plan.brokers, *said.brokers})
    return Cost(brokers, len(said.words), _bytes(said.words), besides=besides)


def _bytes(words: Iterable[Message | Frame]) -> int:
    return sum(len(encode(word)) for word in words)


def _swap(view: View, edges: Sequence[Edge], move: Move, tables: Tables) -> Sequence[Message | Frame]:
    step = Step(*move.brokers)
    routes = _routes(tables[step.middle]) if edges is view.edges else _later(edges, step, tables)
    return swap_messages(step, view.listens_at(step.mover), *_sides(edges, step, tables, routes))


def _add(view: View, edges: Sequence[Edge], move: Move, tables: Tables) -> Sequence[Message | Frame]:
    """A question, an answer, and what is wanted."""
    link = move.brokers[1]
    tree = [name for name in view.names if find_path(edges, link, name)]
    hello = Hello(0, tables[link]["routing"], link, view.listens_at(link), 1 << 40, 1 << 47, 0, False, (link, 0))
    return [hello, hello, *_snapshots(tree, link, tables)]


def _drain(view: View, edges: Sequence[Edge], move: Move, tables: Tables) -> Sequence[Message | Frame]:
    table = tables[move.brokers[0]]
    wanted: dict[str, list[Pattern]] = {name: [] for name in table["clients"]}
    for each in table["entries"]:
        if each["kind"] == "client":
            wanted[each["hop"]].append(Pattern(each["topic"], each["selector"]))
    said: list[Message] = [Draining(True), Welcome("", view.listens_at(move.brokers[0])), Leave(), Leave()]
    for name, patterns in wanted.items():
        parts = list(chunks(patterns)) or [[]]
        said += [Offer(name, 1, number, some, number + 1 == len(parts)) for number, some in enumerate(parts)]
        rests = (Rest(name, 1, b"", last=False), Rest(name, 1, b"", last=True))
        said += [Opened(name, 1, "", retry=False), *rests, Taken(name, 1), Told(name, 1)]
    return said


_SAID = {ADD: _add, DRAIN: _drain}


def _snapshots(tree: list[str], link: str, tables: Tables) -> list[Snapshot]:
    """What the new one is told, and its own empty word."""
    table = tables[link]
    match table["routing"]:
        case "flooding":
            entries: list[Entry] = []
        case "global-table":
            entries = [(name, some) for name in tree for some in chunks(wanted_of(tables[name]))]
        case _:
            patterns = dict.fromkeys([*wanted_of(table), *(pattern for _, pattern in sorted(_routes(table)))])
            told = without_covered(patterns) if table["covering"] else list(patterns)
            entries = [("", some) for some in chunks(told)]
    told_new = [Snapshot([entry], False) for entry in entries] or [Snapshot([], True)]
    return [*told_new, Snapshot([], True)]


def _routing(tables: Tables) -> str:
    """All brokers of a network have the same."""
    return next((str(table["routing"]) for table in tables.values()), "")


def _routes(table: dict[str, Any]) -> set[tuple[str, Pattern]]:
    """What its neighbours want."""
    entries = (each for each in table["entries"] if each["kind"] != "client")
    return {(each["hop"], Pattern(each["topic"], each["selector"])) for each in entries}


def _later(edges: Sequence[Edge], step: Step, tables: Tables) -> set[tuple[str, Pattern]]:
    """The same of the middle, once the links are these."""
    wanted = {name: wanted_of(table) for name, table in tables.items()}
    middle = tables[step.middle]
    return ideal_tables(edges, wanted, middle["routing"], middle["covering"])[step.middle]


def _sides(
    edges: Sequence[Edge], step: Step, tables: Tables, routes: set[tuple[str, Pattern]]
) -> tuple[list[Entry], list[Entry]]:
    """What travels: wanted behind the mover, and at the middle apart from both others."""
    match tables[step.middle]["routing"]:
        case "flooding":
            return [], []
        case "global-table":
            rest = [edge for edge in edges if set(edge) != {step.mover, step.middle}]
            behind = [name for name in tables if find_path(rest, step.mover, name) and wanted_of(tables[name])]
            return [(name, []) for name in behind], []
    behind_mover = [pattern for hop, pattern in sorted(routes) if hop == step.mover]
    others = {pattern: None for hop, pattern in sorted(routes) if hop not in (step.mover, step.goal)}
    return [("", behind_mover)], [("", list(dict.fromkeys(wanted_of(tables[step.middle])) | others))]


def wanted_of(table: dict[str, Any]) -> list[Pattern]:
    """What its clients want."""
    entries = [each for each in table["entries"] if each["kind"] == "client"]
    return list(dict.fromkeys(Pattern(each["topic"], each["selector"]) for each in entries))
