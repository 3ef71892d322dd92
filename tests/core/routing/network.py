"""Routing strategies joined by FIFO channels in a tree, without links, overlay or time."""

from __future__ import annotations

import random
from collections import deque

from reknit.core.overlay.shapes import Edge, adjacency, names, shape_edges
from reknit.core.routing.base import Routing
from reknit.core.routing.ideal import Tables, ideal_tables
from reknit.core.routing.strategies import RoutingName, make_routing
from reknit.core.routing.table import broker
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.wire.messages import Message, Snapshot

__all__ = ["Net"]


class Net:
    def __init__(self, routing: RoutingName, edges: list[Edge], covering: bool = False, seed: int = 0) -> None:
        self.name, self.covering, self.rng = routing, covering, random.Random(seed)
        self.edges = list(edges)
        self.wanted: dict[str, dict[tuple[str, Pattern], None]] = {name: {} for name in adjacency(edges)}
        self.channels: dict[Edge, deque[Message]] = {}
        self.said: list[tuple[str, str, Message]] = []
        self.nodes: dict[str, Routing] = {
            name: make_routing(routing, covering, Turn(name, observing=False), self._sender(name))
            for name in self.wanted
        }
        for one, other in edges:
            self.nodes[one].tell(other)
            self.nodes[other].tell(one)
        self.run()
        self.said.clear()

    @classmethod
    def random(cls, routing: RoutingName, count: int, seed: int, covering: bool = False) -> Net:
        return cls(routing, shape_edges("random", names(count), random.Random(seed)), covering, seed)

    def _sender(self, name: str):  # type: ignore[no-untyped-def]
        def send(neighbour: str, message: Message) -> None:
            self.said.append((name, neighbour, message))
            self.channels.setdefault((name, neighbour), deque()).append(message)

        return send

    def step(self) -> bool:
        """Let one message arrive, on a channel that chance picks."""
        ready = [channel for channel, waiting in self.channels.items() if waiting]
        if not ready:
            return False
        sender, receiver = channel = self.rng.choice(ready)
        message = self.channels[channel].popleft()
        if isinstance(message, Snapshot):
            self.nodes[receiver].receive_snapshot(sender, message)
        else:
            self.nodes[receiver].receive(sender, message)
        return True

    def run(self) -> None:
        while self.step():
            pass

    def subscribe(self, name: str, client: str, pattern: Pattern) -> None:
        self.wanted[name][client, pattern] = None
        self.nodes[name].subscribe(client, pattern)

    def unsubscribe(self, name: str, client: str, pattern: Pattern) -> None:
        self.wanted[name].pop((client, pattern), None)
        self.nodes[name].unsubscribe(client, pattern)

    def tables(self) -> Tables:
        return {
            name: {
                (hop, pattern)
                for kind, hop in node.table.hops()
                if kind == "broker"
                for pattern in node.table.of(broker(hop))
            }
            for name, node in self.nodes.items()
        }

    def ideal(self) -> Tables:
        wanted = {name: [pattern for _, pattern in wishes] for name, wishes in self.wanted.items()}
        return ideal_tables(self.edges, wanted, self.name, self.covering)  # type: ignore[arg-type]

    def publish(self, start: str, event: Event) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Where the event is delivered (broker, client), and which hops it makes."""
        delivered: list[tuple[str, str]] = []
        hops: list[tuple[str, str]] = []
        frontier = [(start, "")]
        for name, sender in frontier:
            route = self.nodes[name].route(event)
            delivered += [(name, client) for client, _ in route.matches]
            for neighbour in route.neighbours:
                if neighbour != sender:
                    hops.append((name, neighbour))
                    frontier.append((neighbour, name))
        return delivered, hops
