"""What all stories have in common: how a text of commands is told anew, and held against what was reviewed.

After a change that is meant, ``REKNIT_STORIES=write pytest tests/stories`` writes the new dialogues; read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

__all__ = ["check_told", "weave"]


class _Stage(Protocol):
    lines: list[str]
    """What was said since somebody looked."""


_S = TypeVar("_S", bound=_Stage)


def weave(story: str, obey: Callable[[_S | None, str], _S]) -> str:
    """The story with the dialogue as it is; its own dialogue is not looked at."""
    told: list[str] = []
    stage: _S | None = None
    for line in story.splitlines():
        if line.startswith("#") or not line.strip():
            told.append(line)
        elif line.startswith("$ "):
            told.append(line)
            stage = obey(stage, line[2:])
            told += stage.lines
            stage.lines.clear()
    return "\n".join(told) + "\n"


def check_told(path: Path, tell: Callable[[str], str]) -> None:
    """Told again, it must be the one that was reviewed; or it is written down."""
    written = path.read_text()
    told = tell(written)
    if os.environ.get("REKNIT_STORIES") == "write":
        path.write_text(told)
    else:
        assert told.splitlines() == written.splitlines()
