"""Causal order from one calm moment to the next: nobody sees an event before another that its publisher knew of.

What an event follows from is one number for each source. A client knows of what was delivered to it where it is; into a
session that has moved ahead of it, it looks once it has been told. Where something has crashed, was given up, or was
replaced at once, causal chains are torn until all is calm again, and nothing is said of them.

A client that has a session at another broker, too, and begins anew here or goes back there, takes no causes along. From
then on it is known where it is, and what its other session sees it does not know of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from reknit.pipeline._judging.account import Finding
from reknit.trace.records import SWAP_WITHOUT, Kind

__all__ = ["Causality", "Happened", "Sessions", "Whereabouts", "tears"]

Past: TypeAlias = dict[str, int]
Key: TypeAlias = tuple[str, str]

ORDERLY = ("swap", "add", "drain", "return")
"""Changes that keep causal order; what comes back after a crash has nothing left to tear."""


Happened: TypeAlias = tuple[float, str, str, str, str, str, str, int, str, bool]
"""Time, node, kind, peer, client, detail, source, number, topic, as a row has them; and does the client begin anew?"""


def tears(detail: str) -> bool:
    return detail.partition(":")[0] not in ORDERLY or detail.startswith(SWAP_WITHOUT)


@dataclass(slots=True)
class Whereabouts:
    """Where clients are, as records about sessions tell."""

    ahead: dict[Key, None] = field(default_factory=dict)
    """Sessions that have moved ahead of their clients."""
    at: dict[str, str] = field(default_factory=dict)
    """By client that has, or had, two sessions: the broker where it is; empty if that is not known."""

    def left(self, key: Key) -> bool:
        """Whether the client is known to be elsewhere."""
        return self.at.get(key[1], "") not in ("", key[0])

    def see(self, key: Key, kind: str, peer: str, anew: bool) -> None:
        node, client = key
        if anew:
            self.at[client] = "" if kind == Kind.DETACHED else node
        match kind:
            case Kind.MOVED_IN:
                self.ahead[key] = None
            case Kind.MOVED_OUT:
                if self.at.get(client) == node:
                    self.at[client] = peer
                if not self.left((peer, client)):
                    self.ahead.pop((peer, client), None)
            case Kind.ATTACHED | Kind.DETACHED:
                self.ahead.pop(key, None)
            case Kind.CRASHED:
                self.ahead = {each: None for each in self.ahead if each[0] != node}


class Sessions:
    """Which brokers have, or had, a session of each client; and so, when one begins anew."""

    def __init__(self) -> None:
        self.where = Whereabouts()
        self._nodes: dict[str, dict[str, None]] = {}  # by client

    def see(self, key: Key, kind: str, peer: str) -> bool:
        """Whether by this record the client begins anew, or goes back."""
        anew = self._anew(key, kind)
        self.where.see(key, kind, peer, anew)
        return anew

    def _anew(self, key: Key, kind: str) -> bool:
        node, client = key
        if kind not in (Kind.ATTACHED, Kind.DETACHED, Kind.TAKEN, Kind.MOVED_IN):
            return False
        nodes = self._nodes.setdefault(client, {})
        elsewhere = any(each != node for each in nodes)
        if kind == Kind.DETACHED:
            nodes.pop(node, None)
            return elsewhere and not self.where.left(key)
        nodes[node] = None
        return elsewhere and kind != Kind.MOVED_IN


class Causality:
    """One stretch between two calm moments; ``where`` clients were before."""

    def __init__(self, where: Whereabouts) -> None:
        self.where = Whereabouts(dict(where.ahead), dict(where.at))
        self.known: dict[str, Past] = {}  # by client: what it knows of when it publishes
        self.last: dict[Key, Past] = {}
        self.implied: dict[Key, Past] = {}  # by session: what the events it has seen follow from
        self.pasts: dict[tuple[str, int], Past] = {}
        self.moving: dict[Key, tuple[Past, Past]] = {}
        self.torn = False

    def judge(self, happened: Iterable[Happened]) -> Iterator[Finding]:
        for time, node, kind, peer, client, detail, source, seq, topic, anew in happened:
            key = (node, client)
            if kind == Kind.DELIVERED:
                if self._delivered(key, (source, seq)):
                    yield Finding("not causal", time, node, client, source, seq, topic)
            elif kind == Kind.PUBLISHED:
                self._published(key, (source, seq))
            elif kind in (Kind.CRASHED, Kind.LINK_LOST) or (kind == Kind.CHANGE and tears(detail)):
                self.torn = True
            if anew:
                self.known.pop(client, None)
            self.where.see(key, kind, peer, anew)
            self._follow(key, kind, (peer, client))

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
            case Kind.MOVED_OUT if not self.where.left(other):
                known = self.known.setdefault(key[1], {})
                _merge(known, self.last.get(other, {}))
                _merge(known, self.implied.get(other, {}))
            case Kind.CRASHED:
                for each in [each for each in self.last if each[0] == key[0]]:
                    del self.last[each]

    def _published(self, key: Key, event: tuple[str, int]) -> None:
        if self.where.left(key):  # the broker has come to it only after the client had gone
            self.pasts[event] = {}
            return
        known = self.known.setdefault(key[1], {})
        self.pasts[event] = dict(known)
        known[event[0]] = event[1]

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
        if key not in self.where.ahead and not self.where.left(key):
            known = self.known.setdefault(key[1], {})
            _merge(known, past)
            _merge(known, {source: seq})
        return late


def _merge(into: Past, other: Past) -> None:
    for source, seq in other.items():
        if seq > into.get(source, 0):
            into[source] = seq
