"""Those that were neighbours of this broker, and how it answers when they call as if they were.

Three kinds: who was left, and knows it; who was given up, and may not know; and who has left the network for good, and
has left word with us who may still hold it for a neighbour. Nobody answers there any more, so whoever comes back has to
hear of it from us, when we turn it away. And what was said of a part of the tree that went with one has to reach
everybody, if need be by our next life.

Owns: who is remembered as such, and the refusal. Must not know: how a neighbour is left, or why.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING, TypeVar

from reknit.wire.messages import Hello, Refuse

if TYPE_CHECKING:
    from reknit.core.links.link import Link

__all__ = ["DOUBT_S", "FORMER_MAX", "HOLDERS_MAX", "LEFT_MAX", "Former"]

FORMER_MAX = 256
"""Neighbours of each kind that are remembered; beyond it the oldest go."""

HOLDERS_MAX = 64
"""Brokers that may still hold one that has gone for a neighbour: those that it has given up last."""

LEFT_MAX = 16
"""Brokers that have left for good, as one refusal names them: it has to fit into a greeting."""

DOUBT_S = 10.0
"""For how long a next life doubts what it hears of others: by then neighbours have said what they know."""

_Value = TypeVar("_Value")


class Former:
    def __init__(self, me: str) -> None:
        self.me = me
        self.given_up: dict[str, None] = {}  # given up though they may live, and hold us for their neighbour
        self.given_up_at = -inf  # the last of them, in this life
        self.gone: dict[str, list[str]] = {}  # by broker that has left for good: who may hold it for a neighbour
        self.apart: dict[str, None] = {}  # with whom a part of the tree went, and somebody may not have heard of it
        self.apart_from = -inf  # if a life before has left that to us: when this one began to say it
        self._left: dict[str, None] = {}

    def leave(self, peer: str) -> None:
        _keep(self._left, peer, None)

    def give_up(self, peer: str, now: float) -> None:
        """It cannot be told: should it come back, it has to ask to be joined."""
        self.given_up_at = now
        self.leave(peer)
        _keep(self.given_up, peer, None)

    def awaits(self, now: float, for_s: float) -> str:
        """Why we should not go yet, if so: who was given up may be about to come back, and would find nobody."""
        left_s = self.given_up_at + for_s - now
        names = ", ".join(self.given_up)
        return f"has just given up {names} as lost; try again in {left_s:.0f} s" if names and left_s > 0 else ""

    def part_from(self, peer: str) -> None:
        """A part of the tree is gone with it, and all are being told."""
        _keep(self.apart, peer, None)

    def recall(self, given_up: dict[str, None], gone: dict[str, list[str]], apart: dict[str, None]) -> None:
        """What a life before has left."""
        self.given_up, self.gone, self.apart = dict(given_up), dict(gone), dict(apart)

    def told(self, links: Iterable[Link], now: float) -> bool:
        """Whether just now everybody has heard of parts of the tree that are gone, as all that was sent is settled."""
        if not self.apart or now < self.apart_from + DOUBT_S or not all(link.idle for link in links):
            return False
        self.apart = {}
        return True

    def has_gone(self, peer: str, holders: Iterable[str]) -> None:
        _keep(self.gone, peer, list(holders)[-HOLDERS_MAX:])

    def meets(self, peer: str) -> None:
        """There may be a link again."""
        self._left.pop(peer, None)

    def is_linked(self, peer: str) -> None:
        """It is a neighbour (again), and has heard what it did not know."""
        self.meets(peer)
        self.given_up.pop(peer, None)
        self.gone.pop(peer, None)
        rest = {name: [each for each in holders if each != peer] for name, holders in self.gone.items()}
        self.gone = {name: holders for name, holders in rest.items() if holders}

    def refusal(self, hello: Hello) -> Refuse | None:
        """Of one who is no neighbour and does not ask to be one; None if it may be right, and we have no memory."""
        name = hello.name
        left = [each for each, holders in self.gone.items() if name in holders][:LEFT_MAX]
        if name in self.given_up:
            return Refuse(f"{self.me} has given up {name} as lost", retry=True, stranger=True, left=left)
        if hello.linked and name not in self._left:
            return None
        return Refuse(f"{self.me} and {name} are no neighbours", retry=False, stranger=True, left=left)


def _keep(some: dict[str, _Value], name: str, value: _Value) -> None:
    some[name] = value
    if len(some) > FORMER_MAX:
        del some[next(iter(some))]
