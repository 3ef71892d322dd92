"""Small tables as files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

CHECKINS = pa.schema(
    [("user_id", pa.int32()), ("ts", pa.timestamp("ms", "UTC")), ("lat", pa.float32()), ("lon", pa.float32())]
)

DAY = datetime(2010, 8, 1, tzinfo=UTC)


def at(hour: float) -> datetime:
    return datetime.fromtimestamp(DAY.timestamp() + 3600 * hour, UTC)


TWO_PEOPLE = [
    (1, at(0), 30.5, -100.5),
    (1, at(1), 30.6, -100.4),
    (1, at(1), 30.6, -100.4),  # an exact copy
    (1, at(30), 31.5, -100.5),
    (2, at(2), 30.5, -100.5),
]
"""Three visits: the first of user 1 has two check-ins and a copy, and lasts for 30 hours; two are open."""


def write_checkins(path: Path, rows: Sequence[tuple[Any, ...]] = TWO_PEOPLE) -> Path:
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], [], []]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns, schema=CHECKINS), path)
    return path
