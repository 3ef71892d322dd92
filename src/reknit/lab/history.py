"""The tables of a network over time, as its trace tells them; and events that travel over them.

Where events do not change routes, and all links take the same time, it does not matter whether events travel in the
simulator or afterwards: an event that is at a broker at some time goes to the neighbours for which the table held a
matching pattern at that very time, and is there one latency later. So the brokers run without events, their trace is
read, and events are sent over what it tells, a hundred times faster. A test holds this to the full simulation, hop by
hop. One thing is left out: an event is not dropped for having been overtaken by a later one of the same source, which
takes a path that is longer by more hops than fit between the two.

Owns: reading routes and links from a trace, and travelling. Must not know: brokers, strategies.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from reknit.core.overlay.shapes import Edge
from reknit.lab.overhead import ideal_bits
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind, Record

__all__ = ["History", "Travel", "travel", "windows"]

T = TypeVar("T")


@dataclass(slots=True)
class _Node:
    """One broker: its state from each time on."""

    times: list[float] = field(default_factory=lambda: [-1.0])
    routes: list[dict[str, int]] = field(default_factory=lambda: [{}])
    """By neighbour that an event can be sent to: what it wants."""


class History:
    def __init__(self, records: Iterable[Record], bits: Mapping[Pattern, int], wants: Mapping[str, int]) -> None:
        """``bits``: what stands for each pattern; ``wants``: by broker, what clients want at all times."""
        self._bits = bits
        self._wants = wants
        self._nodes: dict[str, _Node] = {}
        self._tables: dict[str, dict[str, int]] = {}  # by broker and neighbour, whether linked or not
        self._linked: dict[str, dict[str, None]] = {}
        self._holders: dict[Edge, int] = {}  # how many of its ends hold it
        self._forest_times: list[float] = [-1.0]
        self._forests: list[list[Edge]] = [[]]  # the links from each of these times on
        self._ideals: dict[int, dict[tuple[str, str], int]] = {}  # by place among them
        self._gone: dict[Edge, list[float]] = {}  # by hop: when the link has vanished, with what was in flight
        self.moved: list[float] = []  # when any table or link has changed
        for record in records:
            self._see(record)

    def _see(self, record: Record) -> None:
        name, peer, now = record.node, record.peer, record.time
        match record.kind:
            case Kind.ROUTE_ADDED if record.pattern is not None:
                table = self._tables.setdefault(name, {})
                table[peer] = table.get(peer, 0) | self._bits[record.pattern]
            case Kind.ROUTE_REMOVED if record.pattern is not None:
                self._tables[name][peer] &= ~self._bits[record.pattern]
            case Kind.LINK_ADDED:
                self._linked.setdefault(name, {})[peer] = None
                self._hold(_edge(name, peer), +1, now)
            case Kind.LINK_REMOVED:
                self._linked[name].pop(peer, None)
                for hop in ((name, peer), (peer, name)):
                    self._gone.setdefault(hop, []).append(now)
                self._hold(_edge(name, peer), -1, now)
            case _:
                return
        self._keep(name, now)

    def _keep(self, name: str, now: float) -> None:
        node = self._nodes.setdefault(name, _Node())
        table = self._tables.get(name, {})
        routes = {peer: bits for peer in self._linked.get(name, ()) if (bits := table.get(peer, 0))}
        _put(node.times, node.routes, now, routes)
        self.moved.append(now)

    def _hold(self, edge: Edge, change: int, now: float) -> None:
        """A link counts as long as one end holds it."""
        self._holders[edge] = self._holders.get(edge, 0) + change
        links = [edge for edge, count in self._holders.items() if count]
        if links != self._forests[-1]:
            _put(self._forest_times, self._forests, now, links)

    # --- looking

    def routes(self, name: str, now: float) -> dict[str, int]:
        """Where events could go from this broker: by neighbour, what it wants."""
        node = self._nodes.get(name)
        return node.routes[bisect_right(node.times, now) - 1] if node else {}

    def ideal(self, now: float, ahead: int = 0) -> dict[tuple[str, str], int]:
        """What is wanted behind each neighbour of each broker, with the links of that time or so many changes later."""
        place = min(bisect_right(self._forest_times, now) - 1 + ahead, len(self._forests) - 1)
        if place not in self._ideals:
            self._ideals[place] = ideal_bits(self._forests[place], self._wants)
        return self._ideals[place]

    def is_lost(self, hop: tuple[str, str], sent: float, arrives: float) -> bool:
        """Whether the link vanishes while an event is on it."""
        return hop in self._gone and any(sent < at <= arrives for at in self._gone[hop])


def _put(times: list[float], states: list[T], now: float, state: T) -> None:
    """From ``now`` on."""
    if times[-1] == now:
        states[-1] = state
    else:
        times.append(now)
        states.append(state)


def _edge(one: str, other: str) -> Edge:
    return (one, other) if one < other else (other, one)


@dataclass(frozen=True, slots=True)
class Travel:
    """What became of one event."""

    hops: list[tuple[str, str]]
    misrouted: int
    """Hops behind which nobody wanted it, with the links of that moment."""
    obsolete: int
    """Those of them behind which nobody would have wanted it with the next links either."""
    delivered: list[str]
    """Brokers whose clients got it."""


def travel(
    history: History, wants: Mapping[str, int], published: float, broker: str, event: int, latency_s: float
) -> Travel:
    hops: list[tuple[str, str]] = []
    delivered: list[str] = []
    misrouted = obsolete = 0
    seen = {broker}
    frontier: list[tuple[float, str, str]] = [(published, broker, "")]
    then, ideal = published, history.ideal(published)  # many hops are made at one time
    for now, name, came_from in frontier:
        if wants.get(name, 0) & event:
            delivered.append(name)
        if now != then:
            then, ideal = now, history.ideal(now)
        for peer, wanted in history.routes(name, now).items():
            if not wanted & event or peer == came_from:
                continue
            hop = (name, peer)
            hops.append(hop)
            if not ideal.get(hop, 0) & event:
                misrouted += 1
                obsolete += not history.ideal(now, ahead=1).get(hop, 0) & event
            if peer not in seen and not history.is_lost(hop, now, now + latency_s):
                seen.add(peer)
                frontier.append((now + latency_s, peer, name))
    return Travel(hops, misrouted, obsolete, delivered)


def windows(moved: Sequence[float], pause_s: float) -> list[tuple[float, float]]:
    """The spans in which something moves: times that lie no more than ``pause_s`` apart belong together."""
    spans: list[tuple[float, float]] = []
    for at in sorted(moved):
        if spans and at - spans[-1][1] <= pause_s:
            spans[-1] = (spans[-1][0], at)
        else:
            spans.append((at, at))
    return spans
