"""What brokers say of an event so that it can be missed, and found again; as bytes that travel with it.

An event has a number for each pattern that it matches where it was published. Of those, the first stands in the event
itself; the marks say the *lag* of each pattern: by how much its number is greater than that one. Where the events of a
source match the same patterns, as most of a topic do, their marks are the same bytes from one event to the next. So
whoever writes them, or reads them, does that once for many events; and whoever only passes them on does not read them.

Owns: these bytes and their bounds. Must not know: who counts, or what becomes of a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, TypeAlias

import msgspec

from reknit.model.event import INTEGER_MAX, MARKS_BYTES_MAX, NUMBERS_MAX, Event
from reknit.wire._checks import ROUTE_BROKERS_MAX, BadFrame, check_names

__all__ = ["Marks", "Number", "extend_marks", "lags_of", "numbers_of_event", "read_marks", "write_marks"]

Number: TypeAlias = tuple[int, int]
"""The signature of a pattern, and how many events of one source there have been for it."""

READ_MAX = 4096
"""Marks whose meaning is remembered."""

_Signature: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=INTEGER_MAX)]
_Lag: TypeAlias = Annotated[int, msgspec.Meta(ge=-INTEGER_MAX, le=INTEGER_MAX)]


class Marks(msgspec.Struct, array_like=True, frozen=True, gc=False):
    lags: Annotated[tuple[tuple[_Signature, _Lag], ...], msgspec.Meta(max_length=NUMBERS_MAX)] = ()
    """The signature of each pattern, and by how much its number is greater than that of the event."""
    route: tuple[str, ...] = ()
    """The brokers by which the event has come, where that is recorded: its own first."""
    address: str = ""
    """Where its own broker can be reached; with a route only."""
    key: Annotated[int, msgspec.Meta(ge=0, le=INTEGER_MAX)] = 0
    """What whoever asks there, past the tree, has to name: it is known only where events of that broker come by."""


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Marks] = msgspec.msgpack.Decoder(Marks)


def write_marks(
    numbers: Sequence[Number], route: tuple[str, ...] = (), address: str = "", key: int = 0
) -> tuple[int, bytes]:
    """The number that stands in the event, and its marks."""
    first = numbers[0][1] if numbers else 0
    lags = tuple([(signature, number - first) for signature, number in numbers])
    return first, _encoder.encode(Marks(lags, route, address, key))


@lru_cache(maxsize=READ_MAX)
def read_marks(data: bytes) -> Marks:
    """``BadFrame`` if they are none."""
    try:
        marks = _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadFrame(str(error)) from None
    if len(marks.route) > ROUTE_BROKERS_MAX:
        raise BadFrame(f"an event that came by {len(marks.route)} brokers")
    check_names(marks.address, *marks.route)
    return marks


def extend_marks(marks: Marks, broker: str) -> bytes | None:
    """The same with one more broker on the way; None where there is no way to be extended, or no room."""
    if not marks.route or len(marks.route) >= ROUTE_BROKERS_MAX:
        return None
    data = _encoder.encode(Marks(marks.lags, (*marks.route, broker), marks.address, marks.key))
    return data if len(data) <= MARKS_BYTES_MAX else None


def numbers_of_event(event: Event) -> list[Number]:
    """One for each pattern; none where marks say nothing that makes sense."""
    if not event.number:
        return []
    numbers = [(signature, event.number + lag) for signature, lag in lags_of(event.marks)]
    return [each for each in numbers if 0 < each[1] <= INTEGER_MAX]


def lags_of(marks: bytes) -> tuple[tuple[int, int], ...]:
    """As they say; none where that makes no sense."""
    try:
        return read_marks(marks).lags
    except BadFrame:
        return ()
