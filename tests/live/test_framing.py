"""Frames on a byte stream: any slicing gives the same frames, and a stranger cannot make us hold much."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.live.framing import FrameSplitter, FrameTooLong, frame_head


def on_the_wire(frames: list[bytes]) -> bytes:
    return b"".join(frame_head(frame) + frame for frame in frames)


@given(st.lists(st.binary(max_size=40), max_size=8), st.lists(st.integers(1, 9), min_size=1))
def test_any_slicing_gives_the_same_frames(frames: list[bytes], sizes: list[int]) -> None:
    splitter = FrameSplitter(1000)
    wire = on_the_wire(frames)
    found: list[bytes] = []
    at, turn = 0, 0
    while at < len(wire):
        size = sizes[turn % len(sizes)]
        found += splitter.feed(wire[at : at + size])
        at, turn = at + size, turn + 1
    assert found == frames


def test_a_frame_at_the_bound_is_taken_and_one_beyond_is_not() -> None:
    assert list(FrameSplitter(5).feed(on_the_wire([b"12345"]))) == [b"12345"]
    with pytest.raises(FrameTooLong, match="6 bytes, where 5 are allowed"):
        list(FrameSplitter(5).feed(on_the_wire([b"123456"])))


def test_the_length_is_refused_before_the_bytes_have_come() -> None:
    with pytest.raises(FrameTooLong):
        list(FrameSplitter(5).feed(b"\xff\xff\xff\xff"))


def test_the_bound_can_be_raised_between_two_frames_of_one_read() -> None:
    splitter = FrameSplitter(5)
    frames = splitter.feed(on_the_wire([b"hello", b"a longer one"]))
    assert next(frames) == b"hello"
    splitter.frame_bytes_max = 100
    assert list(frames) == [b"a longer one"]
