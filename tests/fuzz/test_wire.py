"""Bytes from another broker: a frame, or ``BadFrame``; nothing else, whatever was done to them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.wire.codec import BadFrame, decode, decode_direct, encode
from reknit.wire.messages import Direct, Frame
from tests.wire.strategies import DIRECTS, EXAMPLES, frames

VALUES = (
    0x00,
    0x01,
    0x7F,
    0x80,
    0x8F,
    0x90,
    0x9F,
    0xA0,
    0xBF,
    0xC0,
    0xC1,
    0xC3,
    0xC6,
    0xCB,
    0xCF,
    0xD3,
    0xDB,
    0xDD,
    0xDF,
    0xFF,
)


def _try(data: bytes) -> bool:
    """Whether it is a frame. A frame that was read can be written, and is read again as the same."""
    try:
        frame = decode(data)
    except BadFrame:
        return False
    assert decode(encode(frame)) == frame or "nan" in repr(frame)
    return True


@pytest.mark.parametrize("frame", EXAMPLES, ids=lambda frame: type(frame).__name__)
def test_each_byte_changed_to_whatever_means_something(frame: Frame) -> None:
    data = encode(frame)
    taken = sum(_try(data[:at] + bytes((value,)) + data[at + 1 :]) for at in range(len(data)) for value in VALUES)
    assert 0 < taken < len(data) * len(VALUES)


@pytest.mark.parametrize("frame", EXAMPLES, ids=lambda frame: type(frame).__name__)
def test_cut_off_anywhere_and_with_something_behind(frame: Frame) -> None:
    data = encode(frame)
    assert not any(_try(data[:length]) for length in range(len(data)))
    assert not _try(data + data)


@settings(max_examples=200)
@given(frames, st.data())
def test_bytes_taken_out_put_in_and_swapped(frame: Frame, data: st.DataObject) -> None:
    damaged = bytearray(encode(frame))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged)))
        if data.draw(st.booleans()):
            del damaged[at : at + data.draw(st.integers(1, 4))]
        else:
            damaged[at:at] = data.draw(st.binary(max_size=4))
    _try(bytes(damaged))


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    _try(data)


def test_random_bytes_that_begin_like_a_frame() -> None:
    rng = random.Random(5)
    taken = sum(
        _try(bytes((0x90 + rng.randrange(10), rng.randrange(5))) + rng.randbytes(rng.randrange(30)))
        for _ in range(20_000)
    )
    assert taken < 20_000


def _try_direct(data: bytes) -> bool:
    try:
        message = decode_direct(data)
    except BadFrame:
        return False
    assert decode_direct(encode(message)) == message or "nan" in repr(message)
    return True


@pytest.mark.parametrize("message", DIRECTS, ids=lambda message: type(message).__name__)
def test_what_comes_past_the_tree_with_each_byte_changed_or_cut_off(message: Direct) -> None:
    data = encode(message)
    taken = sum(
        _try_direct(data[:at] + bytes((value,)) + data[at + 1 :]) for at in range(len(data)) for value in VALUES
    )
    assert 0 < taken < len(data) * len(VALUES)
    assert not any(_try_direct(data[:length]) for length in range(len(data)))
    assert not _try_direct(data + data)
