"""What a cache keeps, and what it gives up first: policies with names (EPIDEMIC, sections 4 and 5).

- ``own``: only what was published here or is wanted by clients here; the oldest goes first;
- ``en-route``: everything that comes by; the oldest goes first;
- ``strangers-first``: everything; what was neither published nor wanted here goes first;
- ``probabilistic``: everything; chance decides what goes, so that not all caches give up an event at the same time.

Owns: the order of leaving. Must not know: what is cached, or where it is found.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar

__all__ = ["Policy", "PolicyName", "make_policy"]

PolicyName: TypeAlias = Literal["own", "en-route", "strangers-first", "probabilistic"]

T = TypeVar("T")


class Policy(ABC, Generic[T]):
    """``own``, of an event: it was published here, or is wanted by a client here."""

    takes_strangers: ClassVar[bool] = True
    batch_max: ClassVar[int] = 64
    """Of events that came one after the other, how many may leave together; more, if they came in one frame."""

    @abstractmethod
    def came(self, what: T, own: bool) -> None: ...

    @abstractmethod
    def leave(self) -> T:
        """The one that has to go; it is forgotten here. There is one."""

    @abstractmethod
    def back(self, what: T, own: bool) -> None:
        """The one that has just left may stay after all, as the next to go."""

    @abstractmethod
    def __iter__(self) -> Iterator[T]: ...


class _EnRoute(Policy[T]):
    def __init__(self) -> None:
        self._in_order: deque[T] = deque()

    def came(self, what: T, own: bool) -> None:
        self._in_order.append(what)

    def leave(self) -> T:
        return self._in_order.popleft()

    def back(self, what: T, own: bool) -> None:
        self._in_order.appendleft(what)

    def __iter__(self) -> Iterator[T]:
        return iter(self._in_order)


class _Own(_EnRoute[T]):
    takes_strangers: ClassVar[bool] = False


class _StrangersFirst(Policy[T]):
    def __init__(self) -> None:
        self._own: deque[T] = deque()
        self._strange: deque[T] = deque()

    def came(self, what: T, own: bool) -> None:
        (self._own if own else self._strange).append(what)

    def leave(self) -> T:
        return (self._strange or self._own).popleft()

    def back(self, what: T, own: bool) -> None:
        (self._own if own else self._strange).appendleft(what)

    def __iter__(self) -> Iterator[T]:
        return chain(self._own, self._strange)


class _Probabilistic(Policy[T]):
    batch_max: ClassVar[int] = 1

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._all: list[T] = []

    def came(self, what: T, own: bool) -> None:
        self._all.append(what)

    def leave(self) -> T:
        place = self._rng.randrange(len(self._all))
        self._all[place], self._all[-1] = self._all[-1], self._all[place]
        return self._all.pop()

    def back(self, what: T, own: bool) -> None:
        self._all.append(what)

    def __iter__(self) -> Iterator[T]:
        return iter(self._all)


def make_policy(name: PolicyName, rng: random.Random) -> Policy[T]:
    match name:
        case "own":
            return _Own()
        case "en-route":
            return _EnRoute()
        case "strangers-first":
            return _StrangersFirst()
        case "probabilistic":
            return _Probabilistic(rng)
