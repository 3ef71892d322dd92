"""From records to segments, one after the other.

Owns: when a segment is due, and what is told about records that could not be written. Must not know: where records
come from, or threads and processes (see ``writer``).

A segment is due when it is full, when the records in it span ``flush_s_max`` by their own times, or when told to. A
record that no column can hold, or a disk that is full, must not end a trace: such records are counted, and the next
segment that can be written says how many are missing, with a record of kind ``untraced``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reknit.trace.columns import to_table, with_orders
from reknit.trace.plain import Told
from reknit.trace.records import Kind, Record
from reknit.trace.rows import to_rows
from reknit.trace.segments import last_number, node_directory, write_segment

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Segmenter"]

_ORDERS_PER_SEGMENT = 2**32


BATCH_RECORDS = 4096
"""So many become columns at a time: few enough that what they are made of stays in the processor's cache."""


class Segmenter:
    """Writes the segments of one node; ``written`` and ``unwritten`` count its records."""

    def __init__(self, directory: Path, node: str, segment_records_max: int, flush_s_max: float) -> None:
        self.written = 0
        self.unwritten = 0
        self.error = ""  # why something could not be written, the last time
        self._node = node
        self._directory = node_directory(directory, node)
        self._number = last_number(self._directory) + 1
        self._segment_records_max = segment_records_max
        self._batch_records = min(BATCH_RECORDS, segment_records_max)
        self._flush_s_max = flush_s_max
        self._rows: list[pa.Table] = []  # to be written
        self._rows_count = 0
        self._seen: list[Told] = []  # to become rows; younger than those
        self._seen_count = 0
        self._since = 0.0  # the time of the first record that is not written
        self._time = 0.0  # of the last
        self._reported = 0

    def add(self, seen: Sequence[Told]) -> None:
        """Take what was seen, and write what is due."""
        if not seen:
            return
        if not self._rows_count + self._seen_count:
            self._since = seen[0].time
        self._seen += seen
        self._seen_count += sum(1 if isinstance(each, Record) else each.count() for each in seen)
        self._time = seen[-1].time
        if self._seen_count >= self._batch_records:
            self._make_rows()
        while self._rows_count >= self._segment_records_max:
            self._write(self._taken(self._segment_records_max))
        if self._rows_count + self._seen_count and self._time - self._since >= self._flush_s_max:
            self.flush()

    def flush(self) -> None:
        """Write what is there."""
        if self._seen:
            self._make_rows()
        if self._rows_count or self.unwritten > self._reported:
            self._write(self._taken(self._rows_count))

    def _make_rows(self) -> None:
        seen, self._seen = self._seen, []
        length, self._seen_count = self._seen_count, 0
        try:
            self._rows.append(to_rows(seen))
            self._rows_count += length
        except Exception as error:  # a value that no column can hold
            self._fail(length, error)

    def _taken(self, length: int) -> pa.Table:
        """The first rows, taken away."""
        import pyarrow as pa

        rows = pa.concat_tables(self._rows or [to_table([])])
        rest = rows.slice(length)
        self._rows, self._rows_count = ([rest] if len(rest) else []), len(rest)
        self._since = rest["time"][0].as_py() if len(rest) else self._time
        return rows.slice(0, length)

    def _write(self, rows: pa.Table) -> None:
        import pyarrow as pa

        missing = self.unwritten - self._reported
        note = Record(self._time, self._node, Kind.UNTRACED, size=missing, detail=self.error)
        try:
            noted = pa.concat_tables([rows, to_table([note])]) if missing else rows
            table = with_orders(noted, self._number * _ORDERS_PER_SEGMENT)
            self._number = write_segment(table, self._directory, self._number) + 1
        except Exception as error:  # whatever it is, the next segment is tried
            self._fail(len(rows), error)
            return
        self.written += len(rows)
        self._reported += missing

    def _fail(self, length: int, error: Exception) -> None:
        self.unwritten += length
        self.error = f"{type(error).__name__}: {error}"
