"""The log of a broker's process: one line for each thing that happened, for people or for machines.

Owns: levels, both forms of a line, and where it is written. Must not know: what is worth telling. A line never holds a
password or a payload: whoever tells a thing names its fields one by one, and of an exception that nothing has handled
only its kind and its place are written, not its words, which may quote anything.

Whoever reads is woken by each write, on the same machine, and a change of the tree makes several lines in the middle of
the events. So lines about links wait a moment (``SAID_S``), and are written together; all others, and what is bad news,
are written at once, behind them.
"""

from __future__ import annotations

import contextlib
import datetime
import logging
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Self, TextIO, TypeAlias, get_args

import msgspec

__all__ = ["SAID_S", "Form", "Later", "Level", "Line", "Log", "LogSection"]

Form: TypeAlias = Literal["auto", "human", "json"]
Level: TypeAlias = Literal["auto", "debug", "info", "notice", "warning", "error"]
_ORDER = get_args(Level)
_BAD = ("warning", "error")
_DEFAULT = "info"

SAID_S = 0.05
"""How long a line waits for others."""
_PATIENT = "link."
Later: TypeAlias = Callable[[float, Callable[[], None]], object]
"""Calls the second in so many seconds, as an event loop does."""


class LogSection(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``[log]``: what a broker tells on standard error."""

    format: Form = "auto"
    """``auto``: for people on a terminal, else one JSON object in a line; ``reknit up`` has its brokers' for people."""
    level: Level = "auto"
    """From which level on. ``auto``: info, with each client that comes or goes; notice for brokers of ``reknit up``."""


class Line(str):
    """A line for people, that has with it what machines are to read."""

    event: str
    level: Level
    fields: Mapping[str, Any]

    def __new__(cls, text: str, event: str = "note", level: Level = "notice", **fields: Any) -> Self:
        made = super().__new__(cls, text)
        made.event, made.level, made.fields = event, level, fields
        return made

    def reworded(self, text: str) -> Line:
        return Line(text, self.event, self.level, **self.fields)


class Log:
    """Call it with a line. Without ``later`` no line waits."""

    def __init__(
        self, broker: str, section: LogSection, stream: TextIO | None = None, later: Later | None = None
    ) -> None:
        self._broker = broker
        self._stream = stream if stream is not None else sys.stderr
        human = self._stream.isatty() if section.format == "auto" else section.format == "human"
        self._form = self._human if human else self._json
        self._least = _ORDER.index(_DEFAULT if section.level == "auto" else section.level)
        self._later = later
        self._waiting: list[str] = []

    def __call__(self, line: str) -> None:
        told = line if isinstance(line, Line) else Line(line)
        if _ORDER.index(told.level) < self._least:
            return
        self._waiting.append(self._form(told))
        if self._later is None or told.level in _BAD or not told.event.startswith(_PATIENT):
            self.flush()
        elif len(self._waiting) == 1:
            self._later(SAID_S, self.flush)

    def flush(self) -> None:
        """Write what waits."""
        lines, self._waiting = self._waiting, []
        if lines:
            with contextlib.suppress(OSError, ValueError):  # whoever read it is gone, which is no reason to end
                print(*lines, sep="\n", file=self._stream, flush=True)

    def _human(self, line: Line) -> str:
        mark = f"{line.level}: " if line.level in _BAD else ""
        return f"{time.strftime('%H:%M:%S')} {mark}{line}"

    def _json(self, line: Line) -> str:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        entry = {"time": now, "level": line.level, "broker": self._broker, "event": line.event, "message": str(line)}
        return msgspec.json.encode({**line.fields, **entry}).decode()

    @contextlib.contextmanager
    def taking_over(self) -> Iterator[None]:
        """Inside, what libraries and failures have to say is told here, too; after it, no line waits."""
        root = logging.getLogger()
        handlers, level = root.handlers, root.level
        root.handlers = [_Handler(self)]
        root.setLevel(logging.WARNING)
        try:
            yield
        finally:
            root.handlers = handlers
            root.setLevel(level)
            self._later = None
            self.flush()


class _Handler(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        level: Level = "error" if record.levelno >= logging.ERROR else "warning"
        if record.exc_info is None or record.exc_info[0] is None:
            self._log(Line(record.getMessage(), "warning", level, logger=record.name))
            return
        kind, _, where = record.exc_info
        frames = [f"{each.filename}:{each.lineno} {each.name}" for each in traceback.extract_tb(where)]
        text = f"{record.getMessage()}: {kind.__name__} at {' < '.join(reversed(frames)) or 'an unknown place'}"
        self._log(Line(text, "failure", level, logger=record.name, error=kind.__name__, trace=frames))
