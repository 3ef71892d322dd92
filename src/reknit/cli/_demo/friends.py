"""Who takes part in the loop: friends who live at brokers that are far from each other, and some talk more than others.

Owns: the bad tree, the cast and its events, all drawn from one seed. Must not know: sockets, or what becomes of events.

The brokers form a line. A room has members at two brokers, half the line apart, and what is said in it is wanted there.
How much is said about a topic, and how unevenly, is that of real traffic (``shape``); topics are dealt out to the
rooms, so that some of these say more than others. Now and then somebody speaks in another room.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import pairwise

from reknit.cli._demo.shape import EDITS, Shape
from reknit.cli._demo.world import Kind, Mark, Role, Wish, World
from reknit.core.overlay.shapes import Edge, names
from reknit.model.event import Attributes, Event, derive_attributes

__all__ = ["Friends", "friends", "line", "shares"]

AT_HOME = 0.9
"""How often somebody speaks in the own room, and not in any."""
LOUD_MAX = 9


def line(brokers: int) -> list[Edge]:
    return list(pairwise(names(brokers)))


def room_of(broker: str, known: Sequence[str]) -> str:
    return f"{known.index(broker) % max(len(known) // 2, 1) + 1}"


def friends(known: Sequence[str]) -> list[Role]:
    """Two at each broker: one speaks and wants what is loud, by content; one only listens, by topic."""
    roles = []
    for broker in known:
        room = room_of(broker, known)
        loud, every = Wish((f"room/{room}/+",), "loud >= 1"), Wish((f"room/{room}/#",))
        roles.append(Role(f"s-{broker}", broker, room, Kind.PYTHON, loud, publishes=True))
        roles.append(Role(f"l-{broker}", broker, room, Kind.PLAIN, every, publishes=False))
    return roles


def topics_of(room: str, rooms: int, shape: Shape) -> list[int]:
    """The ranks of a room's topics: one for each room in turn. A room without one has the last."""
    return list(range(int(room), len(shape.weights) + 1, rooms)) or [len(shape.weights)]


def shares(roles: Sequence[Role], events: int, rng: random.Random, shape: Shape = EDITS) -> dict[str, int]:
    """By speaker: how many of the events are its own."""
    speakers = [role for role in roles if role.publishes]
    rooms = len({role.home for role in speakers})
    loud = [sum(shape.weights[rank - 1] for rank in topics_of(role.home, rooms, shape)) for role in speakers]
    drawn = rng.choices(speakers, loud, k=events)
    return {role.name: sum(1 for each in drawn if each is role) for role in speakers}


class Friends(World):
    """Makes events."""

    def __init__(self, rng: random.Random, rooms: Sequence[str], shape: Shape = EDITS) -> None:
        super().__init__(rng)
        self._rooms = list(dict.fromkeys(rooms))
        self._shape = shape

    def gap(self, mean_s: float) -> float:
        """Until somebody who speaks every so many seconds speaks again."""
        return self._shape.gap(mean_s, self._rng)

    def event(self, role: Role, mark: Mark) -> Event:
        room = role.home if self._rng.random() < AT_HOME else self._rng.choice(self._rooms)
        rank = self._shape.draw(topics_of(room, len(self._rooms), self._shape), self._rng)
        topic = f"room/{room}/{rank}"
        content: Attributes = {"loud": self._rng.randint(0, LOUD_MAX), "from": role.broker}
        if role.kind is Kind.PYTHON:
            return Event(topic, str(mark).encode(), attributes=content, qos=1)
        payload = json.dumps({"id": str(mark), **content}).encode()
        return Event(topic, payload, derived=derive_attributes(payload), qos=1)
