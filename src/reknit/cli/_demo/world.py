"""Who takes part in the demo, and what is said: a few cities that report traffic, weather and power.

Owns: the cast and the events, all drawn from one seed. Must not know: sockets, or what becomes of an event.

Every event carries an id of its own, by which clients recognise it: the publisher, the number of its connection, and a
count, as text. A Python client sends attributes beside its payload. A plain MQTT 3.1.1 client has no attributes to
send, so it publishes JSON, whose top-level values the brokers read as attributes.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from reknit.core.overlay.shapes import Edge, adjacency
from reknit.model.event import Attributes, Event, derive_attributes
from reknit.model.pattern import Pattern

__all__ = ["Kind", "Mark", "Role", "Wish", "World", "cast", "mark_of", "middle"]

CITIES = {"berlin": "eu", "lima": "sa", "lagos": "af", "osaka": "as", "oslo": "eu", "quito": "sa", "accra": "af"}
SUBJECTS = ("traffic", "weather", "power")
TEXTS = ("storm warning", "storm over", "jam", "all clear", "outage")
SEVERITY_MAX = 5
AT_HOME = 0.5
"""How often a publisher speaks of its own city, and not of any."""


class Kind(StrEnum):
    """How a client connects."""

    PYTHON = "reknit.connect"
    PLAIN = "MQTT 3.1.1"
    MOSQUITTO = "mosquitto_sub"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client subscribes to: any of the topic filters, and the selector."""

    topics: tuple[str, ...]
    selector: str = ""

    def at(self, home: str) -> Wish:
        return Wish(tuple(topic.format(home=home) for topic in self.topics), self.selector)

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        return tuple(Pattern.parse(topic, self.selector) for topic in self.topics)


@dataclass(frozen=True, slots=True)
class Role:
    """One client: where it connects, how, what it wants, and whether it publishes too."""

    name: str
    broker: str
    home: str
    """The city that it speaks of most."""
    kind: Kind
    wish: Wish
    publishes: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """The id that a client gives to its event: its own name, its how-manieth connection, a count on that."""

    publisher: str
    connection: int
    number: int

    def __str__(self) -> str:
        return f"{self.publisher}/{self.connection}/{self.number}"


_BY_CONTENT = (
    Wish(("city/+/traffic",), "severity >= 4 AND region IN ('eu', 'af')"),
    Wish(("city/+/weather",), "text LIKE 'storm%' AND severity > 2"),
    Wish(("city/{home}/#", "city/+/traffic"), "severity >= 4"),
    Wish(("city/#",), "severity = 5 AND text = 'outage'"),
    Wish(("city/{home}/power", "city/oslo/power"), "region <> 'eu' OR severity BETWEEN 2 AND 4"),
    Wish(("city/{home}/+",), "NOT text LIKE '%clear%'"),
)
_BY_TOPIC = (
    Wish(("city/{home}/#", "city/{home}/traffic")),
    Wish(("city/{home}/weather", "city/oslo/weather")),
    Wish(("city/{home}/+",)),
)


def cast(brokers: Sequence[str], per_broker: int, rng: random.Random, mosquitto_at: str = "") -> list[Role]:
    """So many clients at each broker: Python and plain ones by turns; the first half of them publishes too."""
    roles: list[Role] = []
    for broker, home in zip(brokers, itertools.cycle(CITIES), strict=False):
        for place in range(per_broker):
            kind = Kind.PLAIN if place % 2 else Kind.PYTHON
            if broker == mosquitto_at and place == per_broker - 1:
                kind = Kind.MOSQUITTO
            wish = rng.choice(_BY_TOPIC if kind is Kind.PLAIN else _BY_CONTENT).at(home)
            publishes = place < max(per_broker // 2, 1)
            roles.append(Role(f"c{len(roles) + 1:02}", broker, home, kind, wish, publishes))
    return roles


def middle(edges: Sequence[Edge]) -> str:
    """The broker in the middle: its removal leaves the smallest largest part; the first by name of several such."""
    adjacent = adjacency(edges)
    return min(sorted(adjacent), key=lambda name: _largest_part(adjacent, name))


def _largest_part(adjacent: dict[str, list[str]], without: str) -> int:
    return max(_reach(adjacent, neighbour, without) for neighbour in adjacent[without])


def _reach(adjacent: dict[str, list[str]], start: str, without: str) -> int:
    found = {start: None, without: None}
    frontier = [start]
    for node in frontier:
        frontier += [each for each in adjacent[node] if each not in found]
        found.update(dict.fromkeys(adjacent[node]))
    return len(frontier)


class World:
    """Makes events."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def event(self, role: Role, mark: Mark) -> Event:
        city = role.home if self._rng.random() < AT_HOME else self._rng.choice(list(CITIES))
        topic = f"city/{city}/{self._rng.choice(SUBJECTS)}"
        content: Attributes = {
            "severity": self._rng.randint(0, SEVERITY_MAX),
            "region": CITIES[city],
            "text": self._rng.choice(TEXTS),
        }
        if role.kind is Kind.PYTHON:
            return Event(topic, str(mark).encode(), attributes=content, qos=1)
        payload = json.dumps({"id": str(mark), **content}).encode()
        return Event(topic, payload, derived=derive_attributes(payload), qos=1)


def mark_of(payload: bytes) -> Mark:
    """The id of an event, from its payload."""
    text = json.loads(payload)["id"] if payload.startswith(b"{") else payload.decode()
    publisher, connection, number = text.split("/")
    return Mark(publisher, int(connection), int(number))
