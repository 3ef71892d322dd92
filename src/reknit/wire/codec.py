"""Frames to bytes and back.

Owns: the encoding (MessagePack arrays), its version and its bounds. Must not know: connections. Bytes from outside
either decode to a frame, or raise ``BadFrame``; nothing else.
"""

from __future__ import annotations

import msgspec

from reknit.model.event import INTEGER_MAX
from reknit.model.pattern import Pattern
from reknit.model.topic import check_topic
from reknit.wire.messages import Data, Events, Frame, Known, Message, Snapshot, Sub, Unsub

__all__ = ["FRAME_BYTES_MAX", "GREETING_BYTES_MAX", "VERSION", "BadFrame", "decode", "encode"]

VERSION = 1

FRAME_BYTES_MAX = 16 * 1024 * 1024
"""No frame is longer; the receiver checks it before it waits for the rest."""

GREETING_BYTES_MAX = 64 * 1024
"""The same before the other end has said who it is."""


class BadFrame(ValueError):
    """The other broker's fault: bytes that are no frame."""


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Frame] = msgspec.msgpack.Decoder(Frame)

encode = _encoder.encode


def decode(data: bytes) -> Frame:
    if len(data) > FRAME_BYTES_MAX:
        raise BadFrame(f"a frame of {len(data)} bytes, over the {FRAME_BYTES_MAX} that are allowed")
    try:
        frame = _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadFrame(str(error)) from None
    if isinstance(frame, Data):
        for message in frame.messages:
            _check(message)
    return frame


def _check(message: Message) -> None:
    """What types alone do not say. A neighbour is trusted no further than a client is."""
    try:
        if isinstance(message, Events):
            for event in message.events:
                _check_event(event.topic, event.seq, event.source)
        elif isinstance(message, Sub | Unsub):
            _check_patterns(message.patterns)
        elif isinstance(message, Known):
            _check_patterns(message.added)
            _check_patterns(message.removed)
        elif isinstance(message, Snapshot):
            for _, patterns in message.entries:
                _check_patterns(patterns)
    except ValueError as error:
        raise BadFrame(str(error)) from None


def _check_event(topic: str, seq: int, source: str) -> None:
    if not 0 < seq <= INTEGER_MAX or not source:
        raise BadFrame(f"an event without an id on {topic!r}")
    if topic not in _good_topics:
        check_topic(topic)
        if len(_good_topics) >= _GOOD_TOPICS_MAX:
            _good_topics.clear()
        _good_topics.add(topic)


def _check_patterns(patterns: list[Pattern]) -> None:
    for pattern in patterns:
        pattern.check()


_GOOD_TOPICS_MAX = 16_384
_good_topics: set[str] = set()
"""Topics seen to be well formed: events repeat them."""
