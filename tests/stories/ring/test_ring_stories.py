"""A ring as conversations: each story is told again, and must be the one that was reviewed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.retold import check_told
from tests.stories.ring.tell_ring import tell

STORIES = sorted(Path(__file__).parent.glob("*.txt"))


def test_there_are_stories() -> None:
    assert len(STORIES) >= 7


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_is_as_it_was_told(path: Path) -> None:
    check_told(path, tell)


def test_a_command_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="no command 'fly'"):
        tell("$ ring b1@0\n$ fly b1\n")
    with pytest.raises(ValueError, match="begins with a ring"):
        tell("$ crash b1\n")
