"""What a cache keeps, and what it gives up first: policies with names (EPIDEMIC, sections 4 and 5).

- ``own``: only what was published here or is wanted by clients here; the oldest goes first;
- ``en-route``: everything that comes by; the oldest goes first;
- ``strangers-first``: everything; what was neither published nor wanted here goes first;
- ``probabilistic``: everything; chance decides what goes, so that not all caches give up an event at the same time.

Owns: the order of leaving. Must not know: what is cached.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from typing import Literal, TypeAlias

from reknit.model.event import EventId

__all__ = ["Policy", "PolicyName", "make_policy"]

PolicyName: TypeAlias = Literal["own", "en-route", "strangers-first", "probabilistic"]


class Policy(ABC):
    """``own``, of an event: it was published here, or is wanted by a client here."""

    def admits(self, own: bool) -> bool:
        return True

    @abstractmethod
    def came(self, event: EventId, own: bool) -> None: ...

    @abstractmethod
    def leave(self) -> EventId:
        """The one that has to go; it is forgotten here. There is one."""


class _EnRoute(Policy):
    def __init__(self) -> None:
        self._in_order: deque[EventId] = deque()

    def came(self, event: EventId, own: bool) -> None:
        self._in_order.append(event)

    def leave(self) -> EventId:
        return self._in_order.popleft()


class _Own(_EnRoute):
    def admits(self, own: bool) -> bool:
        return own


class _StrangersFirst(Policy):
    def __init__(self) -> None:
        self._own: deque[EventId] = deque()
        self._strange: deque[EventId] = deque()

    def came(self, event: EventId, own: bool) -> None:
        (self._own if own else self._strange).append(event)

    def leave(self) -> EventId:
        return (self._strange or self._own).popleft()


class _Probabilistic(Policy):
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._all: list[EventId] = []

    def came(self, event: EventId, own: bool) -> None:
        self._all.append(event)

    def leave(self) -> EventId:
        place = self._rng.randrange(len(self._all))
        self._all[place], self._all[-1] = self._all[-1], self._all[place]
        return self._all.pop()


def make_policy(name: PolicyName, rng: random.Random) -> Policy:
    match name:
        case "own":
            return _Own()
        case "en-route":
            return _EnRoute()
        case "strangers-first":
            return _StrangersFirst()
        case "probabilistic":
            return _Probabilistic(rng)
