"""Notes: what is written down is read again, and nothing is written where there is nothing to keep."""

from __future__ import annotations

import msgspec
import pytest

from reknit.core.overlay.notes import Closing, Notes, Part, Stage, SwapNote, read_notes, write_notes

NOTE = SwapNote(("a", 1 << 50), "b", "c", "host:1", Part.GOAL, Stage.FLOOD, opened=True)


@pytest.mark.parametrize(
    "notes", [Notes(NOTE), Notes(None, {"b": Closing(("a", 7), "c", "", Part.MOVER)}), Notes(NOTE, {})]
)
def test_what_is_written_is_read(notes: Notes) -> None:
    assert read_notes(write_notes(notes)) == notes


def test_nothing_to_keep_is_an_empty_text() -> None:
    assert write_notes(Notes()) == ""
    assert read_notes("") == Notes()


def test_what_is_no_note_is_refused() -> None:
    with pytest.raises(msgspec.MsgspecError):
        read_notes("{]")
