"""Causal order from one calm moment to the next: nobody sees an event before another that its publisher knew of.

What an event follows from is one number for each source. A client knows of what was delivered to it where it is; into a
session that has moved ahead of it, it looks once it has been told. Where something has crashed, was given up, or was
replaced at once, causal chains are torn until all is calm again, and nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from reknit.pipeline._judging.account import Finding
from reknit.trace.records import SWAP_WITHOUT, Kind

__all__ = ["Causality", "Happened", "ahead_after", "tears"]

Past: TypeAlias = dict[str, int]
Key: TypeAlias = tuple[str, str]

ORDERLY = ("swap", "add", "drain", "return")
"""Changes that keep causal order; what comes back after a crash has nothing left to tear."""


Happened: TypeAlias = tuple[float, str, str, str, str, str, str, int, str]
"""Time, node, kind, peer, client, detail, source, number, topic: as a row has them."""


def tears(detail: str) -> bool:
    return detail.partition(":")[0] not in ORDERLY or detail.startswith(SWAP_WITHOUT)


def ahead_after(ahead: dict[Key, None], node: str, kind: str, peer: str, client: str) -> None:
    """Which sessions have moved ahead of their clients, after one more record."""
    match kind:
        case Kind.MOVED_IN:
            ahead[node, client] = None
        case Kind.MOVED_OUT:
            ahead.pop((peer, client), None)
        case Kind.ATTACHED | Kind.DETACHED:
            ahead.pop((node, client), None)
        case Kind.CRASHED:
            for key in [key for key in ahead if key[0] == node]:
                del ahead[key]


class Causality:
    """One stretch between two calm moments; ``ahead`` are the sessions that were ahead of their clients before."""

    def __init__(self, ahead: Iterable[Key]) -> None:
        self.ahead = dict.fromkeys(ahead)
        self.known: dict[str, Past] = {}  # by client: what it knows of when it publishes
        self.last: dict[Key, Past] = {}
        self.implied: dict[Key, Past] = {}  # by session: what the events it has seen follow from
        self.pasts: dict[tuple[str, int], Past] = {}
        self.moving: dict[Key, tuple[Past, Past]] = {}
        self.torn = False

    def judge(self, happened: Iterable[Happened]) -> Iterator[Finding]:
        for time, node, kind, peer, client, detail, source, seq, topic in happened:
            key = (node, client)
            if kind == Kind.DELIVERED:
                if self._delivered(key, (source, seq)):
                    yield Finding("not causal", time, node, client, source, seq, topic)
            elif kind == Kind.PUBLISHED:
                known = self.known.setdefault(client, {})
                self.pasts[source, seq] = dict(known)
                known[source] = seq
            elif kind in (Kind.CRASHED, Kind.LINK_LOST) or (kind == Kind.CHANGE and tears(detail)):
                self.torn = True
            self._follow(key, kind, (peer, client))
            ahead_after(self.ahead, node, kind, peer, client)

    def _follow(self, key: Key, kind: str, other: Key) -> None:
        match kind:
            case Kind.ATTACHED | Kind.DETACHED:
                self.last.pop(key, None)
                self.implied.pop(key, None)
            case Kind.MOVING:
                self.moving[key] = (dict(self.last.get(key, {})), dict(self.implied.get(key, {})))
            case Kind.MOVED_IN:
                last, implied = self.moving.get(other, ({}, {}))
                self.last[key], self.implied[key] = dict(last), dict(implied)
            case Kind.MOVED_OUT:
                known = self.known.setdefault(key[1], {})
                _merge(known, self.last.get(other, {}))
                _merge(known, self.implied.get(other, {}))
            case Kind.CRASHED:
                for each in [each for each in self.last if each[0] == key[0]]:
                    del self.last[each]

    def _delivered(self, key: Key, event: tuple[str, int]) -> bool:
        """Whether the client has seen something before that follows from this event."""
        source, seq = event
        last = self.last.setdefault(key, {})
        last[source] = max(seq, last.get(source, 0))
        if (past := self.pasts.get(event)) is None:  # published before all was calm last
            return False
        implied = self.implied.setdefault(key, {})
        late = implied.get(source, 0) >= seq and not self.torn
        _merge(implied, past)
        if key not in self.ahead:
            known = self.known.setdefault(key[1], {})
            _merge(known, past)
            _merge(known, {source: seq})
        return late


def _merge(into: Past, other: Past) -> None:
    for source, seq in other.items():
        if seq > into.get(source, 0):
            into[source] = seq
