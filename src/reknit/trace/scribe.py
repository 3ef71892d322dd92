"""The process that writes a node's trace, and what is said to it and by it.

Owns: the frames between a node and its scribe, and the scribe's loop. Must not know: when anything is due
(see ``segmenter``), or how a node uses it (see ``writer``).

Turning records into columns takes the interpreter five times as long as packing them into a frame. So a node packs,
and a process of its own does the rest, on another core if there is one. It lives as long as its standard input: when
the node closes it, or is killed, the scribe writes what it has and ends. So a killed node loses only what it had not
handed over.

To the scribe: a length in four bytes, then as many bytes of a ``Frame``; the length 0 says "write what you have". From
the scribe: one line of JSON, an ``Account``, after each frame that led to writing, and at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from reknit.trace.records import Record

__all__ = ["Account", "Frame", "pack", "serve"]

PAYLOAD_BYTES_MAX = 1024
"""A longer payload is not handed over, only its size: no column holds the payload."""

_LENGTH_BYTES = 4


class Frame(msgspec.Struct, array_like=True):
    records: list[Record]
    payload_sizes: dict[int, int] = {}
    """By the record's place in the frame, the size of a payload that was left out."""


class Account(msgspec.Struct):
    """What has become of the records so far."""

    written: int
    unwritten: int
    error: str


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Frame).decode


def pack(records: Sequence[Record]) -> bytes:
    """The records as one frame with its length in front."""
    kept, sizes = list(records), {}
    for place in _long(records):
        event = records[place].event
        assert event is not None
        sizes[place] = len(event.payload)
        kept[place] = msgspec.structs.replace(records[place], event=msgspec.structs.replace(event, payload=b""))
    body = _encode(Frame(kept, sizes))
    return len(body).to_bytes(_LENGTH_BYTES) + body


def _long(records: Sequence[Record]) -> list[int]:
    """Where the payload is too long to hand over."""
    return [
        place
        for place, record in enumerate(records)
        if (event := record.event) is not None and len(event.payload) > PAYLOAD_BYTES_MAX
    ]


def _unpack(body: bytes) -> list[Record]:
    frame = _decode(body)
    for place, size in frame.payload_sizes.items():
        event = frame.records[place].event
        if event is not None:
            event.payload = bytes(size)
    return frame.records


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

    serve(sys.stdin.buffer, sys.stdout.buffer, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
