"""The store of a trace: a whole run written at once, and many nodes' segments read as one history.

Owns: the order in which records are read back. Must not know: columns and file names (see ``columns``, ``segments``),
or how a live node writes (see ``writer``).

Records are merged by time. A clock may step back, but what a node wrote is never reordered: in the merge a record
counts as no earlier than the one before it. Between equal times ``order`` decides, which in a simulated run is the
order of the whole run, so a run is read back as it was written.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path

from reknit.trace.columns import BadTrace, to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import last_number, name_of, node_directory, read_segment, segments_of, write_segment
from reknit.trace.writer import TraceWriter

__all__ = ["TraceWriter", "read_trace", "write_trace"]

SEGMENT_RECORDS_MAX = 50_000


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
    homes = sorted(root.glob("node-*")) if root.is_dir() else []
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
