"""Events that are taken exactly once, though whoever takes them dies in between and begins again.

Owns: the journal, and the order of its entries and the acknowledgements that makes it so. Must not know: what is done
with the events.

An event is in the journal, on the disk, before it is acknowledged; so the broker still has what the journal has not. Of
QoS 2 the journal knows the numbers, too, until they are released: an event that comes again under such a number is one
that it has. Of QoS 1 nobody can tell, so an event may be there twice if this process dies between the two; of QoS 0 it
may be missing.

The broker keeps the session, and with it what comes while nobody takes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Self

import msgspec

from reknit.client.errors import NotAnswered, Refused
from reknit.client.line import ANSWER_S_MAX, FAILURE_MIN, Door, Line
from reknit.client.sending import write_whole
from reknit.model.event import SELECTOR_PROPERTY, Attributes, from_properties
from reknit.mqtt.packets import Packet, Puback, Pubcomp, Publish, Pubrec, Pubrel, Request, Suback, Subscribe
from reknit.mqtt.properties import PropertyId, pairs, text

__all__ = ["Journal", "Taken", "Taker"]

SIZE_BYTES = 4
SUBSCRIBE_ID = 1
THERE_S = 0.02
"""How long to wait for more of what is on its way."""


class What(IntEnum):
    EVENT = 0
    RELEASED = 1
    HELD = 2
    """A number that is not released, of an event that is not in the journal any more."""


class Taken(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One entry of the journal."""

    what: What
    number: int
    """Of the last event, from 1 on."""
    packet_id: int = 0
    """Of QoS 2."""
    topic: str = ""
    payload: bytes = b""
    attributes: Attributes = {}
    qos: int = 0
    content_type: str = ""
    retain: bool = False


_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(Taken).decode


def _wire(entries: Iterable[Taken]) -> bytes:
    encoded = map(_ENCODE, entries)
    return b"".join(len(data).to_bytes(SIZE_BYTES, "big") + data for data in encoded)


class Journal:
    """A file to which entries are added; what was not written to its end when the process died is cut off."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self.held: dict[int, None] = {}
        """Numbers of QoS 2 that are not released."""
        self.events: list[Taken] = []
        """Those that are still wanted, in their order."""
        self.last = 0
        """The number of the last event, wanted or not."""
        whole = 0
        for entry, whole in self._entries():  # noqa: B007  where the last whole one ends
            self._note(entry)
        self._file = path.open("ab")
        self._file.truncate(whole)

    def _entries(self) -> Iterator[tuple[Taken, int]]:
        data = self._path.read_bytes() if self._path.exists() else b""
        at = 0
        while at + SIZE_BYTES <= len(data):
            end = at + SIZE_BYTES + int.from_bytes(data[at : at + SIZE_BYTES], "big")
            if end > len(data):
                return
            yield _DECODE(data[at + SIZE_BYTES : end]), end
            at = end

    def _note(self, entry: Taken) -> None:
        self.last = entry.number
        if entry.what is What.EVENT:
            self.events.append(entry)
        if entry.what is What.RELEASED:
            self.held.pop(entry.packet_id, None)
        elif entry.packet_id:
            self.held[entry.packet_id] = None

    def add(self, entries: Sequence[Taken]) -> None:
        """On the disk when this returns."""
        if entries:
            self._file.write(_wire(entries))
            self._file.flush()
            os.fsync(self._file.fileno())
        for entry in entries:
            self._note(entry)

    def forget(self, upto: int) -> None:
        """Events up to this number are not wanted any more; the file is written anew without them."""
        self.events = [entry for entry in self.events if entry.number > upto]
        first = self.events[0].number - 1 if self.events else self.last
        numbers = [0, *self.held]
        held = [Taken(What.HELD, first, number) for number in numbers]
        self._file.close()
        # Those held stand first: the events behind them say by themselves which numbers they have.
        write_whole(self._path, _wire([*held, *self.events]))
        self._file = self._path.open("ab")

    def close(self) -> None:
        self._file.close()


class Taker:
    """A subscription whose events go into a journal. Inside ``with``: connected, and subscribed."""

    def __init__(self, door: Door, topic: str, where: str, journal: Journal) -> None:
        self._line = Line(door)
        self._topic = topic
        self._where = where
        self._journal = journal

    def __enter__(self) -> Self:
        self._line.__enter__()
        try:
            self._subscribe()
        except BaseException:
            self._line.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._line.__exit__()

    def _subscribe(self) -> None:
        user = ((int(PropertyId.USER_PROPERTY), (SELECTOR_PROPERTY, self._where)),) if self._where else ()
        # What is retained comes once, and not again with each connection.
        asked = Request(self._topic, 2, retain_handling=1)
        self._line.send([Subscribe(SUBSCRIBE_ID, (asked,), user)])
        packets = self._line.early
        while not self._granted(packets):
            packets = self._line.receive(ANSWER_S_MAX)
            if not packets:
                raise NotAnswered(f"{self._topic}: no answer within {ANSWER_S_MAX:g} s")

    def _granted(self, packets: Sequence[Packet]) -> bool:
        self._take(packets)
        answers = [packet for packet in packets if isinstance(packet, Suback)]
        if answers and answers[0].reasons[0] >= FAILURE_MIN:
            raise Refused(f"{self._topic}: the broker refuses it ({answers[0].reasons[0]})")
        return bool(answers)

    def take(self, within_s: float) -> int:
        """Put into the journal what comes within this time, and all that is there; how many events that were."""
        before = self._journal.last
        packets = self._line.receive(within_s)
        while packets:
            self._take(packets)
            packets = self._line.receive(THERE_S)
        return self._journal.last - before

    def ping(self) -> None:
        self._line.ping()

    def _take(self, packets: Sequence[Packet]) -> None:
        entries: list[Taken] = []
        answers: list[Packet] = []
        held = dict(self._journal.held)
        number = self._journal.last
        for packet in packets:
            if isinstance(packet, Publish):
                if packet.qos < 2 or packet.packet_id not in held:
                    number += 1
                    entries.append(_entry(packet, number))
                if packet.qos == 1:
                    answers.append(Puback(packet.packet_id))
                elif packet.qos == 2:
                    held[packet.packet_id] = None
                    answers.append(Pubrec(packet.packet_id))
            elif isinstance(packet, Pubrel):
                held.pop(packet.packet_id, None)
                entries.append(Taken(What.RELEASED, number, packet.packet_id))
                answers.append(Pubcomp(packet.packet_id))
        self._journal.add(entries)
        if answers:
            self._line.send(answers)


def _entry(packet: Publish, number: int) -> Taken:
    typed, rest = from_properties(pairs(packet.properties))
    attributes: Attributes = {**dict(rest), **typed}
    content_type = text(packet.properties, PropertyId.CONTENT_TYPE) or ""
    ident = packet.packet_id if packet.qos == 2 else 0
    return Taken(
        What.EVENT, number, ident, packet.topic, packet.payload, attributes, packet.qos, content_type, packet.retain
    )
