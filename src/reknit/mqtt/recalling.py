"""From entries back to sessions: what a door begins with that had a life before.

A session is as it was when its last change was committed: what waited waits, what was in flight is in flight under the
same packet identifier, and is repeated when the client comes. A client that was connected is away from now on, as if
its connection had been lost at the start of this life: nobody knows when the former one ended.

Owns: how entries become sessions. Must not know: where they were kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from reknit.mqtt.keeping import (
    IDENTS,
    IN_FLIGHT,
    MESSAGES,
    RECEIVED,
    SESSIONS,
    Keeper,
    KeptSession,
    MessageEntry,
    Numbered,
    SessionEntry,
)
from reknit.mqtt.session import PACKET_IDS, Message

__all__ = ["SHELVES", "BadEntry", "Recalled"]

SHELVES = (SESSIONS, MESSAGES, IDENTS, RECEIVED)

_sessions = msgspec.msgpack.Decoder(SessionEntry)
_messages = msgspec.msgpack.Decoder(MessageEntry)


class BadEntry(ValueError):
    """An entry that no door has written."""


@dataclass(slots=True)
class _Parts:
    entry: SessionEntry | None = None
    messages: dict[int, MessageEntry] = field(default_factory=dict)
    in_flight: dict[int, int] = field(default_factory=dict)  # by number: its packet identifier
    released: list[tuple[int, int]] = field(default_factory=list)  # numbers, which give the order, and identifiers
    received: list[int] = field(default_factory=list)


class Recalled:
    """Takes entries one by one, and has the sessions when all are there."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._of: dict[str, _Parts] = {}

    def take(self, shelf: str, key: bytes, value: bytes) -> None:
        """``BadEntry`` if it is none of these shelves."""
        try:
            self._take(shelf, key, value)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise BadEntry(f"entry {key!r} on shelf {shelf!r}: {error}") from None

    def _take(self, shelf: str, key: bytes, value: bytes) -> None:
        name, _, rest = key.partition(b"\0")
        client = name.decode()
        if (parts := self._of.get(client)) is None:
            parts = self._of[client] = _Parts()
        if shelf == SESSIONS:
            parts.entry = _sessions.decode(value)
            for subscription in parts.entry.subscriptions:
                subscription.pattern.check()
        elif shelf == MESSAGES:
            number = int.from_bytes(rest, "big")
            parts.messages[number] = _messages.decode(value)
            self._keeper.last_number = max(self._keeper.last_number, number)
        else:
            self._take_ident(parts, shelf, int.from_bytes(rest, "big"), value)

    def _take_ident(self, parts: _Parts, shelf: str, ident: int, value: bytes) -> None:
        if not 0 < ident <= PACKET_IDS:
            raise BadEntry(f"{ident} is no packet identifier")
        if shelf == RECEIVED:
            parts.received.append(ident)
            return
        number = int.from_bytes(value[1:], "big")
        self._keeper.last_number = max(self._keeper.last_number, number)
        if value[:1] == IN_FLIGHT:
            parts.in_flight[number] = ident
        else:
            parts.released.append((number, ident))

    def sessions(self, now: float) -> list[KeptSession]:
        """All of them, those that are over by now too: whoever ends those drops their entries."""
        return [self._session(client, parts, parts.entry, now) for client, parts in self._of.items() if parts.entry]

    def _session(self, client: str, parts: _Parts, entry: SessionEntry, now: float) -> KeptSession:
        session = self._keeper.session(client)
        session.expiry_s, session.user = entry.expiry_s, entry.user
        session.subscriptions.restore(entry.subscriptions)
        self._restore_messages(session, parts, entry)
        session.released = {ident: None for _, ident in sorted(parts.released)}
        session.received = dict.fromkeys(parts.received)
        epoch, was_here = self._keeper.epoch, not entry.ends
        session.ends_at = now + entry.expiry_s if was_here else entry.ends - epoch
        session.will = entry.will
        session.will_at = now + min(entry.will_delay_s, entry.expiry_s) if was_here else entry.will_at - epoch
        session.lasting = True
        if was_here:
            session.changed()
        return session

    def _restore_messages(self, session: KeptSession, parts: _Parts, entry: SessionEntry) -> None:
        """The session does not last yet, so nothing of this is written."""
        inflight: dict[int, Message] = {}
        waiting: list[Message] = []
        last_id = entry.last_id
        for number, each in sorted(parts.messages.items()):
            message = Numbered(each.event, each.identifiers, each.qos, each.retain, number, each.ident > 0)
            if ident := each.ident or parts.in_flight.get(number, 0):
                inflight[ident] = message
                last_id = ident
            elif each.replay:
                session.replay.append(message)
            else:
                waiting.append(message)
        session.restore(inflight, waiting, last_id, entry.own)
