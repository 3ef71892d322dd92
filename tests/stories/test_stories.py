"""The protocol as conversations: each story is told again, and must be the one that was reviewed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.retold import check_told
from tests.stories.tell import tell

STORIES = sorted(Path(__file__).parent.glob("*.txt"))


def test_there_are_stories() -> None:
    assert len(STORIES) >= 14


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_is_as_it_was_told(path: Path) -> None:
    check_told(path, tell)


def test_telling_does_not_depend_on_what_was_told_before() -> None:
    story = STORIES[0].read_text()
    bare = "\n".join(line for line in story.splitlines() if line.startswith(("#", "$")))
    assert [line for line in tell(bare).splitlines() if line] == [line for line in tell(story).splitlines() if line]


def test_a_story_needs_a_network_first() -> None:
    with pytest.raises(ValueError, match="begins with a network"):
        tell("$ crash b1\n")
