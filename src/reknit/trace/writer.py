"""A live node's trace: what was seen in, as cheaply as can be.

Owns: the queue between a hot event loop and the scribe, its bound, and what is told about records that did not fit.
Must not know: columns, files, or when a segment is due (see ``scribe``, ``segmenter``).

``append`` makes columns of what it is given (``plain``), and one frame of a few hundred records. It does so in the
event loop: that takes a sixth of a microsecond for each event, less than a change of threads would, and the events are
free to go while they are still warm, instead of filling memory and the garbage collector's lists. Another thread only
hands frames to the scribe, a process of its own, and waits for it without holding the interpreter.

A node never waits for its trace. When the queue is full, because the scribe cannot follow, records are dropped and
counted, and the trace says so in the place where they are missing, with a record of kind ``untraced``. A scribe that
dies is started again, and what it had not written counts as dropped. A node that is killed loses what is in its
queue: at most ``pending_records_max`` records, none older than about ``flush_s_max``; the scribe writes the rest.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import msgspec

from reknit.trace.passage import Seen
from reknit.trace.plain import Told, tell
from reknit.trace.records import Kind, Record
from reknit.trace.scribe import Account, pack
from reknit.trace.segments import node_directory

__all__ = ["TraceWriter"]

SEGMENT_RECORDS_MAX = 50_000
PENDING_RECORDS_MAX = 200_000
FLUSH_S_MAX = 2.0

BATCH_RECORDS = 512
"""So many are packed in one go, or as many more as one turn brings."""

WAKE_RECORDS = 32_768
"""So many in the queue wake the thread before the flush is due. Each time costs the event loop a change of threads."""

CLOSE_S_MAX = 60.0
"""A scribe that has not written all by then is stuck, and is killed."""

_FLUSH = bytes(4)
_FULL = "the queue of the trace was full"

_Packed: TypeAlias = tuple[bytes, int, float]
"""A frame, how many records it holds, and the time of the last."""


class TraceWriter:
    """Writes what one node saw into ``directory``; one thread may append, any thread may read the counters."""

    def __init__(
        self,
        directory: Path | str,
        node: str,
        *,
        segment_records_max: int = SEGMENT_RECORDS_MAX,
        pending_records_max: int = PENDING_RECORDS_MAX,
        flush_s_max: float = FLUSH_S_MAX,
    ) -> None:
        if segment_records_max < 1 or pending_records_max < segment_records_max or not flush_s_max > 0:
            raise ValueError("a trace needs 1 <= segment_records_max <= pending_records_max, and flush_s_max > 0")
        node_directory(Path(directory), node).mkdir(parents=True, exist_ok=True)
        self.node = node
        self._lock = threading.Lock()  # around the next five; never held while anything is waited for
        self._open: list[Told] = []
        self._open_records = 0
        self._packed: deque[_Packed] = deque()
        self._pending = 0  # records, open and packed
        self._refused = 0
        self._lost = 0  # of the thread
        self._reported = 0
        self._past = Account(0, 0, "")  # of scribes that are no more
        self._error = ""
        self._time = 0.0
        self._pending_records_max = pending_records_max
        self._wake_records = min(WAKE_RECORDS, segment_records_max)
        self._flush_s_max = flush_s_max
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._arguments = [str(directory), node, str(segment_records_max), str(flush_s_max)]
        self._scribe: _Scribe | None = _Scribe(self._arguments)
        self._thread = threading.Thread(target=self._run, name=f"trace-{node}", daemon=True)
        self._thread.start()

    # --- the data path

    def append(self, seen: Sequence[Seen]) -> None:
        """Take it; never waits. What does not fit is dropped and counted."""
        told, records = tell(seen)
        with self._lock:
            if self._pending + records > self._pending_records_max:
                self._refused += records
                return
            self._pending += records
            self._open += told
            self._open_records += records
            if self._open_records >= BATCH_RECORDS:
                self._pack()
        if self._pending >= self._wake_records and not self._wake.is_set():
            self._wake.set()

    def _pack(self) -> None:
        """Make a frame of what is open; with the lock held."""
        told, self._open = self._open, []
        records, self._open_records = self._open_records, 0
        try:
            self._packed.append((pack(told), records, told[-1].time))
        except Exception as error:  # a value that has no bytes must not end the trace
            self._pending -= records
            self._refused += records
            self._error = f"{type(error).__name__}: {error}"

    # --- what has become of it

    @property
    def written(self) -> int:
        """Records that are in segments."""
        return self._past.written + self._account().written

    @property
    def dropped(self) -> int:
        """Records that are not, and never will be."""
        return self._refused + self._lost + self._past.unwritten + self._account().unwritten

    @property
    def error(self) -> str:
        """Why something could not be written, the last time; empty if all could."""
        return self._account().error or self._error

    def _account(self) -> Account:
        scribe = self._scribe
        return scribe.account if scribe else Account(0, 0, "")

    def close(self) -> None:
        """Write all that is pending, and end. What is appended afterwards counts as dropped."""
        self._pending_records_max = -1  # no further test on the data path for something that hardly ever happens
        self._closing.set()
        self._wake.set()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # --- the thread

    def _run(self) -> None:
        while not self._closing.is_set():
            woken = self._wake.wait(self._flush_s_max)
            self._wake.clear()
            self._hand_over()
            if not woken:
                self._send(_FLUSH, 0)
        self._hand_over()
        if self._scribe:
            self._end(self._scribe)

    def _hand_over(self) -> None:
        with self._lock:
            if self._open:
                self._pack()
        while self._packed:
            frame, records, self._time = self._packed.popleft()
            self._send(frame, records)
            with self._lock:
                self._pending -= records
        missing = self._refused + self._lost - self._reported
        if missing:
            note = Record(self._time, self.node, Kind.UNTRACED, size=missing, detail=self._error or _FULL)
            self._reported += missing if self._send(pack([note]), 1) else 0

    def _send(self, frame: bytes, count: int) -> bool:
        """Whether a scribe has taken it."""
        try:
            if self._scribe is None:
                self._scribe = _Scribe(self._arguments)
            self._scribe.send(frame, count)
            return True
        except OSError as error:
            if self._scribe is None:
                self._lose(count, str(error))
            else:
                self._end(self._scribe)
            # The next one is started when there is something to say to it, but not at once: it might die as well.
            self._closing.wait(self._flush_s_max)
            return False

    def _end(self, scribe: _Scribe) -> None:
        """Let the scribe write what it has. What it has not accounted for in the end is lost."""
        why = scribe.close()
        account = scribe.account
        self._scribe = None
        self._error = account.error or self._error
        self._past = Account(self._past.written + account.written, self._past.unwritten + account.unwritten, "")
        if lost := scribe.taken - account.written - account.unwritten:
            self._lose(lost, why)

    def _lose(self, count: int, why: str) -> None:
        self._lost += count
        self._error = why


class _Scribe:
    """The scribe's process, seen from here."""

    def __init__(self, arguments: list[str]) -> None:
        command = [sys.executable, "-P", "-m", "reknit.trace.scribe", *arguments]
        # A session of its own, so that a Ctrl-C meant for the node does not cut off what it still has to say.
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True)
        self.taken = 0
        self.account = Account(0, 0, "")
        self._listener = threading.Thread(target=self._listen, name="trace-account", daemon=True)
        self._listener.start()

    def send(self, frame: bytes, count: int) -> None:
        """Waits while the scribe is behind. ``OSError`` if it is no more."""
        assert self._process.stdin is not None
        self.taken += count
        self._process.stdin.write(frame)
        self._process.stdin.flush()

    def close(self) -> str:
        """Let it write all, and end; the text says how it did."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it may have died with something still unsent
            self._process.stdin.close()
        try:
            code = self._process.wait(CLOSE_S_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._listener.join()
        return f"the process that writes the trace ended with exit code {code}"

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self.account = msgspec.json.decode(line, type=Account)
