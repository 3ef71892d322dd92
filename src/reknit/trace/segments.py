"""Segments: the files that a trace lies in.

Owns: names of files and directories, and how one segment is written whole or not at all. Must not know: when a
segment is due (see ``store``).

A directory holds one subdirectory for each node that wrote, ``node-NAME``, and that holds numbered Parquet files. A
name is percent-escaped. It is not of the form ``key=value``, from which many readers make a column: there is a column
``node`` in each file, and readers do not agree on what to do with two. Nor is one needed to open only what is asked
for, since each file's statistics say whose it is.

A segment is written under a temporary name that readers pass over, and then renamed; so nobody ever sees half of one,
and a process that is killed leaves at most a temporary file. A number is taken by creating the temporary file, which
only one process can do; whoever then finds that the segment of that number exists has come too late and takes the
next. So a restarted node, or two processes that were given one name, never overwrite what is there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from reknit.trace.columns import BadTrace, from_table
from reknit.trace.records import Record

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["last_number", "name_of", "node_directory", "read_segment", "segments_of", "write_segment"]

_PREFIX = "node-"
_NAME_BYTES_MAX = 250
_SEGMENT = re.compile(r"segment-([0-9]{8,18})\.parquet")


def node_directory(directory: Path, node: str) -> Path:
    """Where the segments of ``node`` lie."""
    name = f"{_PREFIX}{quote(node, safe='')}"
    if len(name) > _NAME_BYTES_MAX:
        raise BadTrace(f"a node's name of {len(node)} characters is too long for a directory: {node[:40]!r}...")
    return directory / name


def name_of(node_dir: Path) -> str:
    """The node whose directory it is."""
    return unquote(node_dir.name.removeprefix(_PREFIX))


def segments_of(node_dir: Path) -> list[Path]:
    """The whole segments in their order."""
    found = ((_number(path), path) for path in node_dir.iterdir())
    return [path for number, path in sorted(found) if number]


def last_number(node_dir: Path) -> int:
    """The number of the last segment, or 0."""
    return max((_number(path) for path in node_dir.iterdir()), default=0) if node_dir.is_dir() else 0


def _number(path: Path) -> int:
    match = _SEGMENT.fullmatch(path.name)
    return int(match[1]) if match else 0


def write_segment(table: pa.Table, node_dir: Path, number: int) -> int:
    """Write ``table`` as the first segment from ``number`` on that is free, and return its number."""
    import pyarrow.parquet as pq

    node_dir.mkdir(parents=True, exist_ok=True)
    number, temporary = _claim(node_dir, number)
    try:
        with temporary.open("wb") as file:
            rows = max(1, table.num_rows)
            pq.write_table(table, file, row_group_size=rows, write_page_checksum=True, **_encodings(table.column_names))
        temporary.rename(_path(node_dir, number))
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return number


def _encodings(names: list[str]) -> dict[str, Any]:
    """Numbers that rise are written as differences, in a tenth of the space; of all else, each value once."""
    rising = [name for name in names if name in _RISING]
    return {
        "compression": "zstd",
        "use_dictionary": [name for name in names if name not in _RISING],
        "column_encoding": dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
    }


_RISING = ("order", "seq")


def _claim(node_dir: Path, number: int) -> tuple[int, Path]:
    while True:
        temporary = node_dir / f".segment-{number:08}.partial"
        try:
            temporary.touch(exist_ok=False)
        except FileExistsError:
            number += 1
            continue
        if not _path(node_dir, number).exists():
            return number, temporary
        temporary.unlink()
        number += 1


def _path(node_dir: Path, number: int) -> Path:
    return node_dir / f"segment-{number:08}.parquet"


def read_segment(path: Path) -> list[tuple[int, Record]]:
    """The records of one file, each with its order. ``BadTrace`` names the file and what is wrong with it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # ParquetFile, and not read_table, which would add a column for the directory's name.
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
        records = from_table(table)  # checks that there are orders, too
        return list(zip(table.column("order").to_pylist(), records, strict=True))
    except (BadTrace, pa.ArrowException, OSError) as error:
        raise BadTrace(f"{path}: {error}") from error
