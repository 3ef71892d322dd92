"""The process that writes a node's trace, and what is said to it and by it.

Owns: the frames between a node and its scribe, and the scribe's loop. Must not know: when anything is due
(see ``segmenter``), or how a node uses it (see ``writer``).

Turning what was seen into columns takes the interpreter twenty times as long as packing it into a frame. So a node
packs, with one call for hundreds of events, and a process of its own does the rest, on another core if there is one
and behind everybody else if there is none. It lives as long as its standard input: when the node closes it, or is
killed, the scribe writes what it has and ends. So a killed node loses only what it had not handed over.

To the scribe: a length in four bytes, then as many bytes of a ``Frame``; the length 0 says "write what you have". From
the scribe: one line of JSON, an ``Account``, after each frame that led to writing, and at the end.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from reknit.model.event import Event
from reknit.trace.passage import Passage
from reknit.trace.plain import Told
from reknit.trace.records import Record

__all__ = ["Account", "Frame", "pack", "serve"]

PAYLOAD_BYTES_MAX = 1024
"""No column holds the payload. Where a whole event is handed over, a short one goes with it, because that costs less
than leaving it out; a frame with more bytes than this for each event is packed again, without longer payloads."""

NICENESS = 15
"""The scribe comes after whatever else wants the processor, first of all its node."""

_LENGTH_BYTES = 4


class Frame(msgspec.Struct, array_like=True):
    seen: list[Told]
    payload_sizes: dict[int, int] = {}
    """By the number of its event in the frame, the size of a payload that was left out."""


class Account(msgspec.Struct):
    """What has become of the records so far."""

    written: int
    unwritten: int
    error: str


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Frame).decode


def pack(seen: Sequence[Told]) -> bytes:
    """What was seen as one frame with its length in front."""
    body = _encode(Frame(list(seen)))
    if len(body) > PAYLOAD_BYTES_MAX:
        events = sum(1 for _ in _events(seen))
        if len(body) > PAYLOAD_BYTES_MAX * events > 0:
            body = _encode(_lightened(seen))
    return len(body).to_bytes(_LENGTH_BYTES) + body


def _lightened(seen: Sequence[Told]) -> Frame:
    """The same without payloads that are too long."""
    numbers, frame = itertools.count(), Frame([])

    def light(event: Event) -> Event:
        number = next(numbers)
        if len(event.payload) <= PAYLOAD_BYTES_MAX:
            return event
        frame.payload_sizes[number] = len(event.payload)
        return msgspec.structs.replace(event, payload=b"")

    for each in seen:
        if isinstance(each, Passage):
            frame.seen.append(msgspec.structs.replace(each, events=[light(event) for event in each.events]))
        elif isinstance(each, Record) and each.event is not None:
            frame.seen.append(msgspec.structs.replace(each, event=light(each.event)))
        else:
            frame.seen.append(each)
    return frame


def _unpack(body: bytes) -> list[Told]:
    frame = _decode(body)
    if frame.payload_sizes:
        for number, event in enumerate(_events(frame.seen)):
            if (size := frame.payload_sizes.get(number)) is not None:
                event.payload = bytes(size)
    return frame.seen


def _events(seen: Sequence[Told]) -> Iterator[Event]:
    for each in seen:
        if isinstance(each, Passage):
            yield from each.events
        elif isinstance(each, Record) and each.event is not None:
            yield each.event


def serve(source: BinaryIO, sink: BinaryIO, directory: Path, node: str, records_max: int, flush_s_max: float) -> None:
    """Write what comes from ``source`` until it ends."""
    from reknit.trace.segmenter import Segmenter

    segmenter = Segmenter(directory, node, records_max, flush_s_max)
    while head := source.read(_LENGTH_BYTES):
        length = int.from_bytes(head)
        body = source.read(length)
        if len(head) < _LENGTH_BYTES or len(body) < length:
            break  # the node was killed while it was writing this frame
        before = segmenter.written + segmenter.unwritten
        if length:
            segmenter.add(_unpack(body))
        else:
            segmenter.flush()
        if segmenter.written + segmenter.unwritten > before:
            _tell(segmenter.written, segmenter.unwritten, segmenter.error, sink)
    segmenter.flush()
    _tell(segmenter.written, segmenter.unwritten, segmenter.error, sink)


def _tell(written: int, unwritten: int, error: str, sink: BinaryIO) -> None:
    try:
        sink.write(msgspec.json.encode(Account(written, unwritten, error)) + b"\n")
        sink.flush()
    except BrokenPipeError:
        return  # nobody is left to hear it; the segments count


if __name__ == "__main__":
    import pyarrow.parquet  # noqa: F401  now, so that the first segment does not wait for it

    os.nice(NICENESS)
    gc.disable()  # it makes no cycles, but many small objects, and each collection would look at all of them
    serve(sys.stdin.buffer, sys.stdout.buffer, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
