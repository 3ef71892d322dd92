"""The clients of a simulated network, and the sessions that their brokers' shells keep for them.

A session here is a queue of events that the client has not taken yet: as much of one as it takes to see whether it
arrives whole. A client takes an event some time after it was delivered, publishes only where it is, and goes where its
broker sends it.

Owns: the sessions, and where each client is. Must not know: brokers, or what is right.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from reknit.core.io import Exported, Input, Presence
from reknit.model.event import Event
from reknit.sim.kernel import Kernel
from reknit.trace.records import Kind, Record

__all__ = ["EXPORT_S_MAX", "Clients"]

EXPORT_S_MAX = 0.05
"""How long a shell may take to bring a session to rest."""

_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(list[Event])


@dataclass(slots=True, eq=False)
class _Session:
    waiting: deque[Event] = field(default_factory=deque)
    exports: int = 0  # how often the state was asked for, or was not wanted any more
    frozen: bool = False


class Clients:
    def __init__(
        self, kernel: Kernel, rng: random.Random, records: list[Record], give: Callable[[str, Input], None]
    ) -> None:
        self.kernel = kernel
        self.rng = rng
        self.records = records
        self.give = give
        self.take_s_max: float | None = None
        """How long an event waits for its client at most. None: it is taken at once, and nobody writes that down."""
        self.took: Callable[[str, str, Event], None] | None = None
        """Called with (broker, client, event)."""
        self.moved: Callable[[str, str, str], None] | None = None
        """Called with (client, old broker, new broker) when a client was sent elsewhere."""
        self.ousted: Callable[[str, str], None] | None = None
        """Called with (client, broker) when the session that it had there has given way to another one of its own."""
        self.leaving: Callable[[str], None] | None = None
        """Called with (broker) when a session is asked for there, to be given away."""
        self._at: dict[str, str] = {}  # by client: its broker
        self._sessions: dict[tuple[str, str], _Session] = {}

    # --- what happens to clients

    def attach(self, node: str, client: str) -> None:
        self._at[client] = node
        self._sessions.setdefault((node, client), _Session())

    def detach(self, node: str, client: str) -> None:
        self._sessions.pop((node, client), None)

    def wait_at(self, node: str, client: str) -> None:
        """For a broker that is not there."""
        self._at[client] = node

    def come_back(self, node: str, client: str) -> None:
        """It goes on with a session that has waited for it."""
        self._at[client] = node
        self.records.append(Record(self.kernel.now, node, Kind.TAKEN, client=client))
        session = self._sessions[node, client]
        self._wake(node, client, session, len(session.waiting))

    def oust(self, node: str, client: str) -> None:
        self.detach(node, client)
        if self.ousted is not None and self._at.get(client) == node:
            self.kernel.after(0.0, self.ousted, client, node)

    def crash(self, node: str) -> None:
        for key in [key for key in self._sessions if key[0] == node]:
            del self._sessions[key]

    def begin_anew(self, node: str) -> None:
        """A life of the broker that has its sessions from the one before, and knows of no session on its way."""
        for home, client in [key for key in self._sessions if key[0] == node]:
            self.thaw(home, client)

    def is_served(self, node: str, client: str) -> bool:
        """Whether it is there, and its broker takes what it sends."""
        session = self._sessions.get((node, client))
        return session is not None and not session.frozen and self._at.get(client) == node

    def has_session(self, node: str, client: str) -> bool:
        return (node, client) in self._sessions

    @property
    def at_rest(self) -> bool:
        """Nothing waits for a client that is there."""
        return not any(each.waiting for (node, who), each in self._sessions.items() if self._at.get(who) == node)

    # --- what brokers do

    def deliver(self, node: str, client: str, event: Event) -> None:
        if self.take_s_max is None:
            if self.took is not None:
                self.took(node, client, event)
            return
        session = self._sessions.setdefault((node, client), _Session())
        session.waiting.append(event)
        self._wake(node, client, session, 1)

    def export(self, node: str, client: str) -> None:
        session = self._sessions[node, client]
        if self.leaving is not None:
            self.leaving(node)
        session.exports += 1
        self.kernel.after(self.rng.uniform(0, EXPORT_S_MAX), self._export, node, client, session, session.exports)

    def _export(self, node: str, client: str, session: _Session, number: int) -> None:
        if self._sessions.get((node, client)) is session and session.exports == number:
            session.frozen = True
            self.give(node, Exported(client, _encode(list(session.waiting))))

    def thaw(self, node: str, client: str) -> None:
        session = self._sessions.get((node, client))
        if session is not None:
            session.exports += 1
            session.frozen = False
            self._wake(node, client, session, len(session.waiting))

    def redirect(self, node: str, client: str, broker: str) -> None:
        del self._sessions[node, client]
        if self._at.get(client) != node:
            return  # what has moved is a session that it has left behind: it hears nothing of that
        self._at[client] = broker
        if self.moved is not None:
            self.moved(client, node, broker)
        session = self._sessions.get((broker, client))
        if session is not None:
            self._wake(broker, client, session, len(session.waiting))
            self.give(broker, Presence(client, present=True, room=True))

    def import_(self, node: str, client: str, state: bytes) -> None:
        self._sessions[node, client] = _Session(deque(_decoder.decode(state)))

    # --- taking

    def _wake(self, node: str, client: str, session: _Session, count: int) -> None:
        if self.take_s_max is not None:
            for _ in range(count):
                self.kernel.after(self.rng.uniform(0, self.take_s_max), self._take, node, client, session)

    def _take(self, node: str, client: str, session: _Session) -> None:
        if session.waiting and self._sessions.get((node, client)) is session and self.is_served(node, client):
            event = session.waiting.popleft()
            self.records.append(Record(self.kernel.now, node, Kind.TAKEN, client=client, event=event))
            if self.took is not None:
                self.took(node, client, event)
