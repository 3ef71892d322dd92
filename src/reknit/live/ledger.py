"""The ledger of a broker: all that is to be written down, gathered between two commits.

The door's sessions write their entries themselves (see ``mqtt/keeping``); what the core wants to be kept comes as
effects. The last event of each source goes along with whatever else is written, and never causes a commit of its own:
it matters only to sessions that last, and what those were given is in the same batch.

    shelf     key                 an entry for
    --------  ------------------  ---------------------------------------------------------------------------
    outbox    source and number   an event that clients have published and no neighbour has taken over yet
    book      kind and name       a line of the book: what is retained, among others
    seen      source              the number of its last event that came by
    changes   id                  a change of the tree that is over, for operators; its times are seconds since 1970
    aside     client and number   an event for a session that is on its way
    moves     client              a session that is on its way, or may be
    had       client              by source, what one that has moved here had before, beyond what came by here
    about     incarnation         of the last life, so that the next one is another even if the clock goes back
    about     written             where lost events come back: when this was written last, in ms since 1970

Owns: these entries, and how they become values again. Must not know: how or when a batch is committed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from reknit.core.io import (
    Drop,
    DropAside,
    DropHad,
    DropLine,
    DropMove,
    Keep,
    KeepAside,
    KeepChange,
    KeepHad,
    KeepLine,
    KeepMove,
    Kept,
    Recall,
)
from reknit.core.overlay.history import Change
from reknit.model.event import Event, EventId
from reknit.model.pattern import BadPattern, Pattern
from reknit.mqtt.keeping import Keeper, KeptSession
from reknit.mqtt.recalling import SHELVES, BadEntry, Recalled
from reknit.store.entries import Batch, Entry, StoreError
from reknit.wire.codec import BadFrame, decode_event, encode_event
from reknit.wire.messages import Line

__all__ = ["Ledger", "Past", "StoreCounters", "incarnation_entry", "read_past"]

OUTBOX, BOOK, SEEN, CHANGES, ABOUT = "outbox", "book", "seen", "changes", "about"
ASIDE, MOVES, HAD = "aside", "moves", "had"
SOURCES_MAX = 4_096
"""Sources whose last event is written down; beyond it the one that was written first goes."""
_INCARNATION = b"incarnation"
_WRITTEN = b"written"
_ROUTED, _UNROUTED = b"r", b"u"

_encode = msgspec.msgpack.Encoder().encode
_lines = msgspec.msgpack.Decoder(Line)
_changes = msgspec.msgpack.Decoder(dict[str, Any])


class StoreCounters(msgspec.Struct):
    """What became of the store since this broker began; see ``durable``."""

    commits: int = 0
    commits_failed: int = 0
    commit_s: float = 0.0
    """All of them together."""
    entries_kept: int = 0
    entries_dropped: int = 0
    held_bytes: int = 0
    """That wait for a commit now."""
    pauses: int = 0
    """Times that too much was held, and nobody was read."""


def _number(value: int) -> bytes:
    return value.to_bytes(8, "big")


def _event_key(ident: EventId) -> tuple[str, bytes]:
    return OUTBOX, ident[0].encode() + b"\0" + _number(ident[1])


def _line_key(kind: str, name: str) -> tuple[str, bytes]:
    return BOOK, f"{kind}\0{name}".encode()


def _aside_key(client: str, number: int) -> tuple[str, bytes]:
    return ASIDE, client.encode() + b"\0" + _number(number)


class _Aside(msgspec.Struct, array_like=True, frozen=True):
    event: bytes
    patterns: tuple[Pattern, ...]
    group: str


class _Move(msgspec.Struct, array_like=True, frozen=True):
    peer: str
    move: int
    came: bool


_asides = msgspec.msgpack.Decoder(_Aside)
_moves = msgspec.msgpack.Decoder(_Move)
_had = msgspec.msgpack.Decoder(dict[str, int])


def incarnation_entry(incarnation: int) -> Batch:
    return {(ABOUT, _INCARNATION): _number(incarnation)}


def _shifted(record: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    return dict(record) | {key: record[key] + seconds for key in ("begun", "ended")}


class Ledger:
    def __init__(self, keeper: Keeper, seen: Mapping[str, int], written: Mapping[str, int]) -> None:
        """``seen``: the core's, by source its last event. ``written``: the same of a life before."""
        self.wall_offset = 0.0  # from the clock of this life to seconds since 1970
        self._keeper = keeper
        self._seen = seen
        self._written = dict(written)
        self.clock: Callable[[], float] | None = None  # where it matters when something was written
        self._changes: Batch = {}

    def note(self, effect: Kept) -> None:
        changes = self._changes
        match effect:
            case Keep(events, routed):
                stage = _ROUTED if routed else _UNROUTED
                for event in events:
                    changes[_event_key(event.id)] = stage + encode_event(event)
            case Drop(events=idents):
                changes.update(dict.fromkeys(map(_event_key, idents)))
            case KeepLine(line):
                changes[_line_key(line.kind, line.name)] = _encode(line)
            case DropLine(kind, name):
                changes[_line_key(kind, name)] = None
            case KeepChange(id_, record):
                kept = None if record is None else _encode(_shifted(record, self.wall_offset))
                changes[CHANGES, id_.encode()] = kept
            case _:
                self._note_move(effect)

    def _note_move(self, effect: Kept) -> None:
        changes = self._changes
        match effect:
            case KeepAside(client, number, event, patterns, group):
                changes[_aside_key(client, number)] = _encode(_Aside(encode_event(event), patterns, group))
            case DropAside(client, numbers):
                changes.update(dict.fromkeys(_aside_key(client, number) for number in numbers))
            case KeepMove(client, peer, move, came):
                changes[MOVES, client.encode()] = _encode(_Move(peer, move, came))
            case DropMove(client):
                changes[MOVES, client.encode()] = None
            case KeepHad(client, had):
                changes[HAD, client.encode()] = _encode(dict(had))
            case DropHad(client):
                changes[HAD, client.encode()] = None

    @property
    def idle(self) -> bool:
        return not self._changes and self._keeper.idle

    def take(self) -> Batch:
        """All that has changed since the last call; nothing at all if that is only which events came by."""
        if self.idle:
            return {}
        batch, self._changes = self._changes, {}
        batch.update(self._keeper.take())
        self._note_seen(batch)
        if self.clock is not None:
            batch[ABOUT, _WRITTEN] = _number(max(0, int((self.clock() + self.wall_offset) * 1000)))
        return batch

    def _note_seen(self, batch: Batch) -> None:
        """Never less than before: what is sent again after a crash was seen by the life before."""
        written = self._written
        for source, last in self._seen.items():
            if last > written.get(source, 0):
                if source not in written and len(written) >= SOURCES_MAX:
                    oldest = next(iter(written))
                    del written[oldest]
                    batch[SEEN, oldest.encode()] = None
                written[source] = last
                batch[SEEN, source.encode()] = _number(last)


@dataclass(slots=True)
class Past:
    """What a life before has left."""

    recalled: Recalled
    seen: dict[str, int] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    kept: list[tuple[Event, bool]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    asides: list[KeepAside] = field(default_factory=list)
    moves: list[KeepMove] = field(default_factory=list)
    had: dict[str, dict[str, int]] = field(default_factory=dict)
    incarnation: int = 0
    written: float = math.inf
    """In seconds since 1970."""
    entries: int = 0

    def recall(self, sessions: Iterable[KeptSession], wall_offset: float = 0.0) -> Recall:
        """For the core. ``wall_offset``: as the ledger of this life has it."""
        asked = {session.client: session.subscriptions for session in sessions}
        clients = {client: each.patterns() for client, each in asked.items()}
        shares = {client: each.shared_patterns() for client, each in asked.items()}
        changes = [_shifted(each, -wall_offset) for each in self.changes]
        asides = sorted(self.asides, key=lambda each: each.number)
        sure = {client: each.sure_patterns() for client, each in asked.items()}
        told = (self.lines, self.kept, changes, shares, asides, self.moves, self.had)
        return Recall(clients, self.seen, *told, self.written - wall_offset, sure)


def read_past(entries: Iterable[Entry], keeper: Keeper, where: str) -> Past:
    """``StoreError`` if there is an entry that this broker cannot have written. ``where``: the file, for the line."""
    past = Past(Recalled(keeper))
    try:
        for shelf, key, value in entries:
            past.entries += 1
            _read(past, shelf, key, value)
    except (BadEntry, BadFrame, BadPattern, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreError(f"{where}: not to be understood: {error}; was it written by another reknit?") from None
    return past


def _change(value: bytes) -> dict[str, Any]:
    record = _changes.decode(value)
    msgspec.convert(record, Change)
    return record


def _aside(key: bytes, value: bytes) -> KeepAside:
    client, _, number = key.partition(b"\0")
    aside = _asides.decode(value)
    for pattern in aside.patterns:
        pattern.check()
    return KeepAside(
        client.decode(), int.from_bytes(number, "big"), decode_event(aside.event), aside.patterns, aside.group
    )


def _read(past: Past, shelf: str, key: bytes, value: bytes) -> None:
    if shelf in SHELVES:
        past.recalled.take(shelf, key, value)
    elif shelf == OUTBOX:
        past.kept.append((decode_event(value[1:]), value[:1] == _ROUTED))
    elif shelf == BOOK:
        past.lines.append(_lines.decode(value))
    elif shelf == CHANGES:
        past.changes.append(_change(value))
    elif shelf == ASIDE:
        past.asides.append(_aside(key, value))
    elif shelf == MOVES:
        move = _moves.decode(value)
        past.moves.append(KeepMove(key.decode(), move.peer, move.move, move.came))
    elif shelf == HAD:
        past.had[key.decode()] = _had.decode(value)
    elif shelf == SEEN:
        past.seen[key.decode()] = int.from_bytes(value, "big")
    elif (shelf, key) == (ABOUT, _INCARNATION):
        past.incarnation = int.from_bytes(value, "big")
    elif (shelf, key) == (ABOUT, _WRITTEN):
        past.written = int.from_bytes(value, "big") / 1000
    else:
        raise BadEntry(f"entry {key!r} on shelf {shelf!r} has no meaning here")
