"""Which code was measured: the git revision of this checkout, or the version where there is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

from reknit import __version__

__all__ = ["revision"]

GIT_S_MAX = 10.0


def revision(directory: Path | None = None) -> str:
    """The commit of the checkout that ``directory`` (or this package) lies in; ``-dirty`` if files differ from it.

    An installed package may lie inside somebody else's checkout, so the package must be one of its tracked files.
    """
    where = directory or Path(__file__).parent
    commit = _git(where, "rev-parse", "HEAD")
    if not commit or not _git(where, "ls-files", "."):
        return f"version {__version__}"
    changed = _git(where, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}-dirty" if changed or changed is None else commit


def _git(where: Path, *words: str) -> str | None:
    """What git says; None where there is no git, or nothing for it to look at."""
    try:
        done = subprocess.run(["git", *words], cwd=where, capture_output=True, text=True, timeout=GIT_S_MAX, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
