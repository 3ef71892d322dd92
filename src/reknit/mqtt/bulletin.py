"""The bulletin: what a broker says of itself to its own clients, under ``$SYS/broker``.

The names, units and formats are mosquitto's, so that what reads those reads these. Of its topics only those are here
that can be said truly: payload bytes and the store, which the door does not count, are left out. Each is about this one
broker. A subscriber gets all that it asks for at once, as if they were retained, and later each that has changed.

A *load* is how many there were in a minute, on average over the last 1, 5 or 15, each look weighing less the longer ago
it was: with ``d`` seconds since the last look, ``load = rate + exp(-d / (60 m)) * (load - rate)``.

Under ``$reknit/gaps`` a client hears of the events that it has missed; that is no figure, and nothing of it is kept.

Owns: the topics, and the averages. Must not know: clients, or when to look.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reknit.core.io import Missed
from reknit.model.event import Event
from reknit.model.pattern import Pattern

__all__ = ["PREFIX", "Bulletin", "Figures", "gap_event", "is_local"]

ROOTS = ("$SYS", "$reknit")
"""No client publishes under these, and what a broker says there is for its own clients."""
GAPS = "$reknit/gaps"
"""Under this a client hears which events it has missed, and whether they have come back."""
PREFIX = "$SYS/broker/"
MINUTES = (1, 5, 15)
MINUTE_S = 60.0


def is_local(topic_filter: str) -> bool:
    """Whether only the broker itself ever publishes what this filter asks for, so that no other need know of it."""
    return any(topic_filter == root or topic_filter.startswith(f"{root}/") for root in ROOTS)


def gap_event(missed: Missed) -> Event:
    """What a client is told of events that it has missed: the topic ends with what has become of them."""
    said = {
        "source": missed.source,
        "topic": missed.pattern.topic,
        "selector": missed.pattern.selector,
        "first": missed.first,
        "last": missed.last,
        "state": missed.state,
    }
    return Event(f"{GAPS}/{missed.state.replace(' ', '-')}", json.dumps(said).encode())


@dataclass(frozen=True, slots=True)
class Figures:
    """What there is now, and what there has been since the broker began."""

    version: str
    now: Mapping[str, int]
    """By topic."""
    total: Mapping[str, int]
    """By topic."""
    loads: Mapping[str, int]
    """Totals of which loads are told, by the load's topic."""


class Bulletin:
    def __init__(self) -> None:
        self._events: dict[str, Event] = {}
        self._began: float | None = None
        self._looked = 0.0
        self._before: dict[str, int] = {}
        self._loads: dict[tuple[str, int], float] = {}

    def __len__(self) -> int:
        return len(self._events)

    def matching(self, pattern: Pattern) -> Iterator[Event]:
        """Those that a subscriber to ``pattern`` wants, as they were said last."""
        return (event for event in list(self._events.values()) if pattern.matches(event))

    def look(self, figures: Figures, now: float) -> list[Event]:
        """Say what there is now; the events that differ from what was said last."""
        if self._began is None:
            self._began = self._looked = now
        changed = []
        for name, text in self._said(figures, now):
            event = Event(PREFIX + name, text.encode())
            known = self._events.get(event.topic)
            if known is None or known.payload != event.payload:
                self._events[event.topic] = event
                changed.append(event)
        return changed

    def _said(self, figures: Figures, now: float) -> Iterator[tuple[str, str]]:
        yield "version", figures.version
        yield "uptime", f"{int(now - (self._began or 0.0))} seconds"
        for name, value in (*figures.now.items(), *figures.total.items()):
            yield name, str(value)
        passed, self._looked = now - self._looked, now
        for name, value in figures.loads.items():
            yield from self._load(name, value, passed)

    def _load(self, name: str, value: int, passed: float) -> Iterator[tuple[str, str]]:
        rate = (value - self._before.get(name, 0)) * MINUTE_S / passed if passed > 0 else 0.0
        if passed > 0:
            self._before[name] = value
        for minutes in MINUTES:
            old = self._loads.get((name, minutes), 0.0)
            load = rate + math.exp(-passed / (MINUTE_S * minutes)) * (old - rate)
            self._loads[name, minutes] = load
            yield f"load/{name}/{minutes}min", f"{load:.2f}"
