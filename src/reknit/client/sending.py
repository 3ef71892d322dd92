"""Messages that are published exactly once, though whoever publishes them dies in between and begins again.

Owns: the order of notes and packets that makes it so. Must not know: where the messages are from.

MQTT's QoS 2 has two halves. Up to PUBREC the receiver knows a message by its number, and a second one with the same
number is the same message. From PUBREL on the number is free. So it is enough to note, on a disk and before PUBREL,
that PUBREC has come: without the note a message is sent again under the same number, with it only PUBREL is. Messages
go in chunks, with one note for each; a message's number follows from its place among the messages.

This needs the session: where the broker has none any more, nobody knows whether the last chunk was taken, and it is
sent again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from reknit.client.errors import NotAnswered, Refused
from reknit.client.line import ANSWER_S_MAX, FAILURE_MIN, Door, Line
from reknit.model.event import Attributes, to_properties
from reknit.mqtt.packets import Pubcomp, Publish, Pubrec, Pubrel
from reknit.mqtt.properties import PropertyId, Value

__all__ = ["Message", "Notes", "send_once"]

NUMBERS = 65_535


class Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    topic: str
    payload: bytes = b""
    attributes: Attributes = {}
    content_type: str = ""
    retain: bool = False


class Notes(msgspec.Struct, frozen=True):
    """How far it is: messages up to ``done`` are through, those up to ``taken`` are the broker's."""

    done: int = 0
    taken: int = 0

    @classmethod
    def read(cls, path: Path) -> Notes:
        return msgspec.json.decode(path.read_bytes(), type=cls) if path.exists() else cls()

    def write(self, path: Path) -> None:
        write_whole(path, msgspec.json.encode(self))


def write_whole(path: Path, data: bytes) -> None:
    """On the disk, as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.partial")
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def send_once(door: Door, messages: Sequence[Message], path: Path) -> int:
    """Publish what ``path`` does not say is through; how many were sent. ``ClientError`` if that fails: begin again."""
    notes = Notes.read(path)
    if notes.done == len(messages):
        return 0
    before = notes.done
    with Line(door) as line:
        if notes.taken > notes.done:
            _release(line, notes.done, notes.taken)
        done = notes.taken
        while done < len(messages):
            end = min(done + line.window, len(messages))
            _hand_over(line, messages, done, end, again=line.resumed)
            Notes(done, end).write(path)
            _release(line, done, end)
            done = end
    Notes(done, done).write(path)
    return done - before


def _number(place: int) -> int:
    return 1 + place % NUMBERS


def _hand_over(line: Line, messages: Sequence[Message], begin: int, end: int, again: bool) -> None:
    line.send(_packet(messages[place], _number(place), again) for place in range(begin, end))
    answers = _await(line, Pubrec, {_number(place): place for place in range(begin, end)})
    for place, reason in answers:
        if reason >= FAILURE_MIN:
            raise Refused(f"{messages[place].topic}: the broker refuses it ({reason})")


def _release(line: Line, begin: int, end: int) -> None:
    """Whether the broker still knew the number does not matter."""
    line.send(Pubrel(_number(place)) for place in range(begin, end))
    _await(line, Pubcomp, {_number(place): place for place in range(begin, end)})


def _await(line: Line, kind: type[Pubrec] | type[Pubcomp], places: dict[int, int]) -> list[tuple[int, int]]:
    answered: list[tuple[int, int]] = []
    while places:
        packets = line.receive(ANSWER_S_MAX)
        if not packets:
            raise NotAnswered(f"no acknowledgement within {ANSWER_S_MAX:g} s")
        answers = [packet for packet in packets if isinstance(packet, kind) and packet.packet_id in places]
        answered += [(places.pop(answer.packet_id), answer.reason) for answer in answers]
    return answered


def _packet(message: Message, number: int, again: bool) -> Publish:
    properties: list[tuple[int, Value]] = []
    if message.content_type:
        properties.append((int(PropertyId.CONTENT_TYPE), message.content_type))
    properties += [(int(PropertyId.USER_PROPERTY), pair) for pair in to_properties(message.attributes)]
    return Publish(message.topic, message.payload, 2, number, message.retain, again, tuple(properties))
