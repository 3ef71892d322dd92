"""Where plans lie: their files, and what is kept beside them.

Owns: reading and writing, with one line for what goes wrong; the note that says from which trace a plan was made. The
plan itself does not say so: its bytes are the same wherever the trace lies. Must not know: what a plan says.
"""

from __future__ import annotations

from pathlib import Path

from reknit.cli._problem import BadInput
from reknit.planning.files import AnyPlan, read_plan

__all__ = ["note_trace", "noted_trace", "read", "write"]

_NOTE = ".trace"


def write(out: str, data: bytes, flag: str = "--out") -> None:
    try:
        Path(out).parent.mkdir(parents=True, exist_ok=True)
        Path(out).write_bytes(data)
    except OSError as error:
        raise BadInput(f"{flag} {out}: {error.strerror or error}") from error


def read(file: str) -> AnyPlan:
    try:
        return read_plan(Path(file).read_bytes())
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror or error}") from error


def note_trace(out: str, traces: str) -> None:
    """Beside the plan: whoever carries it out on this machine can measure there what it has saved."""
    if Path(traces).is_dir():
        write(f"{out}{_NOTE}", f"{Path(traces).absolute()}\n".encode())


def noted_trace(file: str) -> str:
    """Empty if nothing was noted, or there is no trace any more."""
    try:
        noted = Path(f"{file}{_NOTE}").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return noted if noted and Path(noted).is_dir() else ""
