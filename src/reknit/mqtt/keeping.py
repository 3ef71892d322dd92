"""Sessions that outlive the broker: what of them is written down, entry by entry, as it changes.

A session *lasts* if it is to outlive its connection; any other ends with the process anyway, and costs nothing here.

    shelf     key                 an entry for
    --------  ------------------  -----------------------------------------------------------------------------------
    session   client              the session itself: subscriptions, expiry, user, will, when it ends
    message   client and number   a message that waits, is replayed or is in flight; the only place of its payload
    ident     client and packet   a packet identifier under which a message that had waited is in flight, or which is
              identifier          to be released
    received  client and packet   a message of QoS 2 that came from the client, which has not released it
              identifier

A message that could be sent at once has its packet identifier in its own entry, so that it costs one entry and not two.
Numbers are never used twice in one life, so an entry that comes and goes between two commits was never on the disk.
Identifiers are used again, so for those the last word has to be said.

Owns: the entries of sessions, and which have changed since they were last taken. Must not know: when they are kept.
"""

from __future__ import annotations

from collections import deque

import msgspec

from reknit.model.event import Event, EventId
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.session import Message, Session
from reknit.mqtt.subscriptions import Subscription
from reknit.store.entries import Batch

__all__ = [
    "IDENTS",
    "IN_FLIGHT",
    "MESSAGES",
    "RECEIVED",
    "RELEASED",
    "SESSIONS",
    "Keeper",
    "KeptSession",
    "MessageEntry",
    "Numbered",
    "SessionEntry",
]

SESSIONS, MESSAGES, IDENTS, RECEIVED = "session", "message", "ident", "received"
IN_FLIGHT, RELEASED = b"f", b"r"
"""What an entry of a packet identifier begins with; a number follows."""

_encode = msgspec.msgpack.Encoder().encode


class SessionEntry(msgspec.Struct, array_like=True, frozen=True):
    expiry_s: int
    ends: float
    """In seconds since 1970; 0 as long as the client is connected."""
    subscriptions: list[Subscription]
    user: str
    will: Event | None
    will_at: float
    """The same for the will of a client that is gone."""
    will_delay_s: int
    """For that of one that is connected."""
    last_id: int
    own: list[EventId]


class MessageEntry(msgspec.Struct, array_like=True, frozen=True, gc=False):
    ident: int
    """The packet identifier under which it was sent at once; 0 if it had to wait."""
    replay: bool
    identifiers: tuple[int, ...]
    qos: int
    retain: bool
    event: Event


class Numbered(Message, frozen=True, gc=False):
    """A message that has an entry."""

    number: int = 0
    direct: bool = False
    """Whether its entry has its packet identifier."""


class Keeper:
    """What has changed in the sessions of a door since ``take``."""

    def __init__(self, options: DoorOptions, epoch: float) -> None:
        """``epoch``: what makes a time of the door one since 1970."""
        self.changes: Batch = {}
        self.stale: dict[str, KeptSession] = {}  # their own entries are to be written anew
        self.last_number = 0
        self.epoch = epoch
        self._options = options

    def session(self, client: str) -> KeptSession:
        return KeptSession(client, self._options, self)

    @property
    def idle(self) -> bool:
        return not self.changes and not self.stale

    def take(self) -> Batch:
        """All changes since the last call."""
        stale, self.stale = self.stale, {}
        for session in stale.values():
            session.write()
        taken, self.changes = self.changes, {}
        return taken

    def number(self) -> int:
        self.last_number += 1
        return self.last_number


class KeptSession(Session):
    """A session that writes down what becomes of it, if it lasts."""

    __slots__ = ("_keeper", "_prefix", "lasting")

    def __init__(self, client: str, options: DoorOptions, keeper: Keeper) -> None:
        super().__init__(client, options)
        self.lasting = False
        self._keeper = keeper
        self._prefix = client.encode() + b"\0"  # no client identifier has a zero in it

    # --- the session's own entry

    def changed(self) -> None:
        self._keeper.stale[self.client] = self

    def write(self) -> None:
        """Write its own entry; and all others where it has just become lasting, or none where it is not any more."""
        if self.expiry_s and not self.lasting:
            self._begin_to_last()
        elif not self.expiry_s and self.lasting:
            self._drop_all()
        if self.lasting:
            self._keeper.changes[SESSIONS, self.client.encode()] = _encode(self._entry())

    def _entry(self) -> SessionEntry:
        connection, epoch = self.connection, self._keeper.epoch
        away = connection is None
        return SessionEntry(
            self.expiry_s,
            self.ends_at + epoch if away else 0.0,
            self.subscriptions.all(),
            self.user,
            self.will if connection is None else connection.will,
            self.will_at + epoch if away else 0.0,
            0 if connection is None else connection.will_delay_s,
            self.last_id,
            self.own_ids() if self.subscriptions.special else [],
        )

    def _begin_to_last(self) -> None:
        self.lasting = True
        self.inflight = {ident: self._numbered(message, ident) for ident, message in self.inflight.items()}
        self.replay = deque(self._numbered(each, replay=True) if each.qos else each for each in self.replay)
        self.waiting = deque(self._numbered(each) if each.qos else each for each in self.waiting)
        for ident in self.released:
            self._mark(ident, RELEASED, self._keeper.number())
        for ident in self.received:
            self._keeper.changes[RECEIVED, self._under(ident)] = b""

    def ended(self) -> None:
        self._keeper.stale.pop(self.client, None)
        if self.lasting:
            self._drop_all()

    def _drop_all(self) -> None:
        self.lasting = False
        changes = self._keeper.changes
        changes[SESSIONS, self.client.encode()] = None
        for message in (*self.inflight.values(), *self.replay, *self.waiting):
            self._drop_message(message)
        for ident in (*self.inflight, *self.released):
            changes[IDENTS, self._under(ident)] = None
        for ident in self.received:
            changes[RECEIVED, self._under(ident)] = None

    # --- messages

    def _under(self, ident: int) -> bytes:
        return self._prefix + ident.to_bytes(2, "big")

    def _numbered(self, message: Message, ident: int = 0, *, replay: bool = False) -> Numbered:
        """The same message with an entry."""
        event, identifiers, qos, retain = message.event, message.identifiers, message.qos, message.retain
        number = self._keeper.number()
        key = (MESSAGES, self._prefix + number.to_bytes(8, "big"))
        self._keeper.changes[key] = _encode(MessageEntry(ident, replay, identifiers, qos, retain, event))
        return Numbered(event, identifiers, qos, retain, number, ident > 0)

    def _drop_message(self, message: Message) -> None:
        if isinstance(message, Numbered):
            key, changes = (MESSAGES, self._prefix + message.number.to_bytes(8, "big")), self._keeper.changes
            if changes.pop(key, None) is None:
                changes[key] = None

    def _mark(self, ident: int, stage: bytes, number: int) -> None:
        self._keeper.changes[IDENTS, self._under(ident)] = stage + number.to_bytes(8, "big")

    def _put(self, message: Message, size: int) -> None:
        super()._put(self._numbered(message) if self.lasting and message.qos else message, size)

    def play(self, message: Message) -> bool:
        kept = self._numbered(message, replay=True) if self.lasting and message.qos else message
        if super().play(kept):
            return True
        self._drop_message(kept)
        return False

    def send(self, message: Message) -> int:
        if not self.lasting:
            return super().send(message)
        ident = super().send(message)
        if isinstance(message, Numbered):
            self._mark(ident, IN_FLIGHT, message.number)
        else:
            self.inflight[ident] = self._numbered(message, ident)
        return ident

    def withdraw(self, ident: int) -> None:
        message = self.inflight[ident]
        super().withdraw(ident)
        self._passed(ident, message)

    def acknowledged(self, ident: int) -> bool:
        message = self.inflight.get(ident)
        known = super().acknowledged(ident)
        if message is not None:
            self._passed(ident, message)
        return known

    def _passed(self, ident: int, message: Message) -> None:
        """It is in flight no longer."""
        if isinstance(message, Numbered):
            self._drop_message(message)
            if not message.direct:
                self._keeper.changes[IDENTS, self._under(ident)] = None

    def release(self, ident: int) -> bool:
        before = ident in self.released
        known = super().release(ident)
        if known and not before and self.lasting:
            self._mark(ident, RELEASED, self._keeper.number())
        return known

    def completed(self, ident: int) -> bool:
        known = super().completed(ident)
        if known and self.lasting:
            self._keeper.changes[IDENTS, self._under(ident)] = None
        return known

    # --- messages of QoS 2 from the client

    def took(self, ident: int) -> None:
        super().took(ident)
        if self.lasting:
            self._keeper.changes[RECEIVED, self._under(ident)] = b""

    def freed(self, ident: int) -> bool:
        known = super().freed(ident)
        if known and self.lasting:
            self._keeper.changes[RECEIVED, self._under(ident)] = None
        return known
