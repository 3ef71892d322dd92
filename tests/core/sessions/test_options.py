"""The bounds of a move fit together, and into a frame."""

from __future__ import annotations

from reknit.core.sessions.options import SessionOptions
from reknit.wire.codec import STATE_PART_BYTES_MAX


def test_a_part_is_no_larger_than_the_other_end_takes() -> None:
    assert SessionOptions().part_bytes <= STATE_PART_BYTES_MAX


def test_whoever_gives_a_session_loses_patience_before_the_one_that_takes_it() -> None:
    """It has all of it, so it is the one to take it back."""
    options = SessionOptions()
    assert options.move_s_max < options.lease_s
    assert options.again_s_min < options.again_s_max
