"""What a message is made of: ``-m``, ``-f``, ``-s``, ``-n``, or a line of the input each with ``-l``.

Owns: that it is one of them, and reading it. Must not know: where it goes.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from reknit.cli._problem import BadInput

__all__ = ["Source", "lines_of_input"]

LINES_MAX = 100
"""Lines that have been read and wait to be published."""


@dataclass(frozen=True, slots=True)
class Source:
    """The flags, of which one is to be given."""

    message: str | None = None
    file: Path | None = None
    whole_input: bool = False
    empty: bool = False
    lines: bool = False

    def check(self, verb: str) -> None:
        given = [self.message is not None, self.file is not None, self.whole_input, self.empty, self.lines]
        if sum(given) != 1:
            more = ", or -l (a line each)" if verb == "pub" else ""
            raise BadInput(f"{verb}: give a message with -m, -f FILE, -s (the input) or -n (none at all){more}")

    def payload(self) -> bytes:
        """The one message; not for ``lines``."""
        if self.file is not None:
            try:
                return self.file.read_bytes()
            except OSError as error:
                raise BadInput(f"-f: {self.file}: {error.strerror}") from None
        if self.whole_input:
            return sys.stdin.buffer.read()
        return (self.message or "").encode(errors="surrogateescape")


async def lines_of_input() -> AsyncIterator[str]:
    """The lines of the input. Read by a thread, so that the connection stays alive however long a line takes.

    The thread is a daemon: at the end nobody waits for a line that does not come.
    """
    import asyncio
    import threading

    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue(LINES_MAX)

    def read() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended before the input
            for line in iter(sys.stdin.readline, ""):
                asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
            asyncio.run_coroutine_threadsafe(lines.put(""), loop).result()

    threading.Thread(target=read, name="input", daemon=True).start()
    while line := await lines.get():
        yield line.removesuffix("\n")
