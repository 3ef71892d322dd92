"""Frames in pieces: whole when all have come, in whatever order, and no more is kept than a few that are not."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from reknit.live.pieces import PIECE_BYTES, UNFINISHED_MAX, Pieces, cut


@given(st.integers(1, 5 * PIECE_BYTES), st.randoms(use_true_random=False))
def test_a_frame_is_whole_when_its_last_piece_has_come(size: int, rng: random.Random) -> None:
    frame = rng.randbytes(size)
    some = list(cut(7, frame))
    rng.shuffle(some)
    pieces = Pieces()
    assert [pieces.take(each) for each in some[:-1]] == [None] * (len(some) - 1)
    assert pieces.take(some[-1]) == frame
    assert not pieces._of


def test_a_piece_that_comes_twice_is_one() -> None:
    first, second = cut(1, bytes(PIECE_BYTES + 1))
    pieces = Pieces()
    assert [pieces.take(each) for each in (first, first)] == [None, None]
    assert pieces.take(second) == bytes(PIECE_BYTES + 1)


def test_of_frames_that_never_become_whole_only_a_few_are_kept() -> None:
    pieces = Pieces()
    for number in range(100):
        first, _ = cut(number, bytes(PIECE_BYTES + 1))
        assert pieces.take(first) is None
    assert len(pieces._of) == UNFINISHED_MAX


def test_what_is_no_piece_is_dropped() -> None:
    pieces = Pieces()
    (whole,) = cut(1, b"x")
    heads = (b"\x00\x05\x00\x05", b"\x00\x00\xff\xff")
    for bad in (b"", whole[:8], *(whole[:4] + head + b"x" for head in heads), whole + bytes(PIECE_BYTES)):
        assert pieces.take(bad) is None
    assert not pieces._of
