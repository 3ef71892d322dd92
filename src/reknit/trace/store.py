"""The store of a trace: records in, segments out, and back again.

Owns: when a segment is due, the thread that writes it, what is lost when that thread cannot follow, and how the
segments of many nodes become one history. Must not know: columns and file names (see ``columns``, ``segments``).

**Writing beside a hot event loop.** ``append`` only extends a queue that one thread fills and another empties; the
queue's own atomicity is all the locking there is. The thread wakes when a segment is full, and every ``flush_s_max``,
and writes. What it does in Python holds the interpreter's lock, which the event loop gives away at each system call
and then has to wait for; so it converts a few records at a time and pauses in between, unless it is falling behind.
Compression and writing run without the lock.

A node never waits for its trace. When the queue is full, records are dropped and counted, and the trace says so in
the place where they are missing, with a record of kind ``untraced``. A process that is killed loses what it had not
written: at most ``pending_records_max`` records, none older than about ``flush_s_max``.

**One history of many nodes.** Records are merged by time. A clock may step back, but what a node wrote is never
reordered: in the merge a record counts as no earlier than the one before it. Between equal times ``order`` decides,
which in a simulated run is the order of the whole run, so a run is read back as it was written.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from reknit.trace.columns import BadTrace, to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import last_number, name_of, node_directory, read_segment, segments_of, write_segment

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TraceWriter", "read_trace", "write_trace"]

SEGMENT_RECORDS_MAX = 50_000
PENDING_RECORDS_MAX = 200_000
FLUSH_S_MAX = 2.0

BATCH_RECORDS_MAX = 512
"""As many are converted in one go: about half a millisecond that the event loop may have to wait."""

PAUSE_S = 0.0005
"""What the event loop gets between two batches. Without one, the thread could hold the lock for most of the time."""

_ORDERS_PER_SEGMENT = 2**32
_FULL = "the queue of the trace was full"


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
        import pyarrow.parquet  # noqa: F401  now, and not in the thread, where it would hold up a running event loop

        self.node = node
        self.dropped = 0
        self.written = 0
        self.error = ""  # the last reason why something could not be written
        self._directory = node_directory(Path(directory), node)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._number = last_number(self._directory) + 1
        self._segment_records_max = segment_records_max
        self._pending_records_max = pending_records_max
        self._flush_s_max = flush_s_max
        self._pending: deque[Record] = deque()
        self._unwritten = 0
        self._reported = 0
        self._why = ""
        self._time = 0.0
        self._closing = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"trace-{node}", daemon=True)
        self._thread.start()

    # --- the data path

    def append(self, records: Sequence[Record]) -> None:
        """Take the records; never waits. What does not fit is dropped and counted."""
        pending = self._pending
        if len(pending) + len(records) > self._pending_records_max:
            self.dropped += len(records)
            return
        pending.extend(records)
        if len(pending) >= self._segment_records_max and not self._wake.is_set():
            self._wake.set()

    def close(self) -> None:
        """Write all that is pending, and end. What is appended afterwards counts as dropped."""
        self._pending_records_max = -1  # no further test on the data path for something that hardly ever happens
        self._closing = True
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
        while not self._closing:
            full = self._wake.wait(self._flush_s_max)
            self._wake.clear()
            # On a timeout a part of a segment has to go as well. When a full one woke us, the rest can wait: it is
            # at the head of the queue at the next wake-up, which comes within flush_s_max.
            self._write_while(self._segment_records_max if full else 1)
        self._write_while(1)

    def _write_while(self, records_min: int) -> None:
        while len(self._pending) >= records_min:
            self._write(min(len(self._pending), self._segment_records_max))
        if records_min == 1 and self._missing():
            self._write(0)

    def _write(self, count: int) -> None:
        """Make a segment of the first ``count`` that are pending, with a note of what is missing before its end."""
        first = self._number * _ORDERS_PER_SEGMENT
        parts = self._converted(count, first)
        rows = sum(part.num_rows for part in parts)
        missing = self._missing()
        if missing:
            note = Record(self._time, self.node, Kind.UNTRACED, size=missing, detail=self._why or _FULL)
            parts.append(to_table([note], [first + count]))
        try:
            self._number = write_segment(_joined(parts), self._directory, self._number) + 1
        except Exception as error:  # a full disk, most likely: the node goes on, and the next segment is tried
            self._fail(rows, error)
            return
        self.written += rows
        self._reported += missing
        self._why = ""

    def _converted(self, count: int, first: int) -> list[pa.Table]:
        parts = []
        for start in range(0, count, BATCH_RECORDS_MAX):
            batch = [self._pending.popleft() for _ in range(min(BATCH_RECORDS_MAX, count - start))]
            self._time = batch[-1].time
            try:
                parts.append(to_table(batch, range(first + start, first + start + len(batch))))
            except Exception as error:  # a value that no column can hold must not end the trace
                self._fail(len(batch), error)
            if len(self._pending) < self._pending_records_max // 2:
                time.sleep(PAUSE_S)
        return parts

    def _fail(self, count: int, error: Exception) -> None:
        self._unwritten += count
        self.error = self._why = f"{type(error).__name__}: {error}"

    def _missing(self) -> int:
        return self.dropped + self._unwritten - self._reported


def _joined(parts: list[pa.Table]) -> pa.Table:
    import pyarrow as pa

    return pa.concat_tables(parts).combine_chunks()


def write_trace(records: Iterable[Record], directory: Path | str) -> None:
    """Write a finished run, at once. The same records give the same files, byte for byte.

    ``BadTrace`` if one of the nodes has a trace there already: two runs in one directory would read as one.
    """
    by_node: dict[str, list[tuple[int, Record]]] = {}
    for place in enumerate(records):
        by_node.setdefault(place[1].node, []).append(place)
    homes = {node: node_directory(Path(directory), node) for node in by_node}
    for home in homes.values():
        if last_number(home):
            raise BadTrace(f"{home}: there is a trace already")
    for node, places in by_node.items():
        for number, start in enumerate(range(0, len(places), SEGMENT_RECORDS_MAX), 1):
            part = places[start : start + SEGMENT_RECORDS_MAX]
            write_segment(to_table([record for _, record in part], [order for order, _ in part]), homes[node], number)


# --- reading


def read_trace(directory: Path | str, *, strict: bool = True) -> list[Record]:
    """All records of all nodes as one history.

    ``BadTrace`` if there is no trace, or names the first segment that cannot be read; with ``strict=False`` such a
    segment is skipped, and a record of kind ``untraced`` stands in its place.
    """
    root = Path(directory)
    homes = sorted(root.glob("node=*")) if root.is_dir() else []
    if not homes:
        raise BadTrace(f"{root}: there is no trace")
    return [
        place[-1] for place in heapq.merge(*(_history(home, strict) for home in homes), key=lambda place: place[:3])
    ]


def _history(home: Path, strict: bool) -> Iterator[tuple[float, int, str, Record]]:
    """What one node wrote, each record with its place among those of the others: time, order, node."""
    latest, last = float("-inf"), 0
    for path in segments_of(home):
        try:
            rows = read_segment(path)
        except BadTrace as error:
            if strict:
                raise
            rows = [(last, Record(max(latest, 0.0), name_of(home), Kind.UNTRACED, detail=f"skipped: {error}"))]
        for order, record in rows:
            latest, last = max(latest, record.time), order
            yield latest, order, home.name, record
