"""What a simulated broker with a store has kept for its next life.

Owns: that. Must not know: files; a turn and what it keeps are one step here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reknit.core.broker import Broker
from reknit.core.io import (
    Drop,
    DropAside,
    DropHad,
    DropLine,
    DropMove,
    Keep,
    KeepAside,
    KeepChange,
    KeepHad,
    KeepLine,
    KeepMove,
    Kept,
    Recall,
)
from reknit.core.routing.table import client as client_hop
from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern
from reknit.wire.messages import Line

__all__ = ["Shelf"]


@dataclass(slots=True)
class Shelf:
    clients: dict[str, tuple[Pattern, ...]] = field(default_factory=dict)
    shares: dict[str, list[tuple[str, Pattern]]] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    lines: dict[tuple[str, str], Line] = field(default_factory=dict)
    kept: dict[EventId, tuple[Event, bool]] = field(default_factory=dict)
    changes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    asides: dict[tuple[str, int], KeepAside] = field(default_factory=dict)
    moves: dict[str, KeepMove] = field(default_factory=dict)
    had: dict[str, Mapping[str, int]] = field(default_factory=dict)
    written: float = math.inf

    def perform(self, effect: Kept) -> None:
        match effect:
            case Keep(events=events, routed=routed):
                self.kept.update({event.id: (event, routed) for event in events})
            case Drop(events=idents):
                for ident in idents:
                    del self.kept[ident]
            case KeepLine(line=line):
                self.lines[line.kind, line.name] = line
            case DropLine(kind=kind, name=name):
                del self.lines[kind, name]
            case KeepChange(id=id_, record=None):
                del self.changes[id_]
            case KeepChange(id=id_, record=record) if record is not None:
                self.changes[id_] = record
            case _:
                self._perform_move(effect)

    def _perform_move(self, effect: Kept) -> None:
        match effect:
            case KeepAside(client=client, number=number):
                self.asides[client, number] = effect
            case DropAside(client=client, numbers=numbers):
                for number in numbers:
                    del self.asides[client, number]
            case KeepMove(client=client):
                self.moves[client] = effect
            case DropMove(client=client):
                del self.moves[client]
            case KeepHad(client=client, had=had):
                self.had[client] = had
            case DropHad(client=client):
                del self.had[client]

    def leave(self, broker: Broker) -> None:
        """It dies now: what its sessions want, and what they have had. One that has not arrived is no session yet."""
        table, arrivals = broker.routing.table, broker.sessions.arrivals
        here = [name for name in broker.sessions.clients if not arrivals.awaits(name)]
        self.clients = {name: tuple(table.of(client_hop(name))) for name in here}
        self.shares = {name: broker.shares.of(name) for name in here}
        self.written = broker.turn.now
        for source, last in broker.seen.items():
            self.seen[source] = max(last, self.seen.get(source, 0))

    def recall(self) -> Recall:
        kept = [self.kept[ident] for ident in sorted(self.kept)]
        lines, changes = list(self.lines.values()), list(self.changes.values())
        asides = [self.asides[key] for key in sorted(self.asides, key=lambda key: key[1])]
        moves = list(self.moves.values())
        told = (lines, kept, changes, self.shares, asides, moves, dict(self.had))
        return Recall(self.clients, dict(self.seen), *told, self.written, self.clients)
