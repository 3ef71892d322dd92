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

from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import last_number, node_directory, write_segment

__all__ = ["Segmenter"]

_ORDERS_PER_SEGMENT = 2**32


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
        self._flush_s_max = flush_s_max
        self._buffer: list[Record] = []
        self._reported = 0
        self._time = 0.0

    def add(self, records: Sequence[Record]) -> None:
        """Take the records, and write what is due."""
        self._buffer += records
        while len(self._buffer) >= self._segment_records_max:
            self._write(self._buffer[: self._segment_records_max])
            del self._buffer[: self._segment_records_max]
        if self._buffer and self._buffer[-1].time - self._buffer[0].time >= self._flush_s_max:
            self.flush()

    def flush(self) -> None:
        """Write what is there."""
        if self._buffer or self.unwritten > self._reported:
            taken, self._buffer = self._buffer, []
            self._write(taken)

    def _write(self, records: list[Record]) -> None:
        if records:
            self._time = records[-1].time
        missing = self.unwritten - self._reported
        note = Record(self._time, self._node, Kind.UNTRACED, size=missing, detail=self.error)
        noted = [*records, note] if missing else records
        try:
            first = self._number * _ORDERS_PER_SEGMENT
            table = to_table(noted, range(first, first + len(noted)))
            self._number = write_segment(table, self._directory, self._number) + 1
        except Exception as error:  # whatever it is, the next segment is tried
            self.unwritten += len(records)
            self.error = f"{type(error).__name__}: {error}"
            return
        self.written += len(records)
        self._reported += missing
