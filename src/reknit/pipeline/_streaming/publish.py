"""Tables put in the place of those before, all at once.

Owns: that. Must not know: what is in them.

There are two places for tables, and a link to the one that counts; they are written to the other, and then the link is
changed. So whoever opens a table finds a whole one, of the same batch as all the others. Where there are no links, the
report says which place it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from pyspark.sql import DataFrame

from reknit.pipeline._streaming.kept import Kept, Note
from reknit.pipeline.run import REPORT, is_remote

__all__ = ["StreamReport", "missing_in", "publish"]

PLACES = ("a", "b")
CURRENT = "current"


class StreamReport(msgspec.Struct, frozen=True):
    """What there is, beside the tables."""

    batch: int
    files: int
    rows: int
    """In sound files, of all batches."""
    tables: dict[str, int]
    aside: dict[str, int]
    """Rows in no table, by reason."""
    broken_files: dict[str, str]
    """By path: what is wrong with it."""
    missing: dict[str, int]
    """By node: records that were never written, as the trace itself says."""
    place: str
    """Where the tables are, in the stream's directory."""


def publish(kept: Kept, note: Note, tables: Mapping[str, DataFrame]) -> StreamReport:
    place = f"tables/{_other(kept)}"
    counts = {}
    for name, made in tables.items():
        path = f"{kept.out}/{place}/{name}"
        made.write.mode("overwrite").parquet(path)
        counts[name] = kept.spark.read.schema(made.schema).parquet(path).count()
    aside = kept.all("aside", note).groupBy("reason").agg({"rows": "sum"}).toDF("reason", "rows")
    reasons = {row["reason"]: row["rows"] for row in aside.orderBy("reason").collect()}
    broken = {row["path"]: row["problem"] for row in kept.all("broken", note).orderBy("path").collect()}
    report = StreamReport(note.batch, note.files, note.rows, counts, reasons, broken, missing_in(kept, note), place)
    _turn_to(kept, report)
    return report


def missing_in(kept: Kept, note: Note) -> dict[str, int]:
    counted = kept.all("gaps", note).groupBy("node").agg({"records": "sum"}).toDF("node", "records")
    return {row["node"]: row["records"] for row in counted.orderBy("node").collect()}


def _other(kept: Kept) -> str:
    """The place that does not count."""
    if _has_links(kept):
        link = Path(kept.out, CURRENT)
        now = link.readlink().name if link.is_symlink() else ""
    else:
        now = next(iter(kept.texts(CURRENT)), "").rpartition("/")[2]
    return PLACES[0] if now == PLACES[1] else PLACES[1]


def _has_links(kept: Kept) -> bool:
    return not is_remote(kept.out) and os.path.isdir(kept.out)


def _turn_to(kept: Kept, report: StreamReport) -> None:
    text = msgspec.json.format(msgspec.json.encode(report), indent=2).decode()
    if not _has_links(kept):
        written = kept.spark.createDataFrame([(text,)], "value string")
        written.coalesce(1).write.mode("overwrite").text(f"{kept.out}/{REPORT}")
        kept.tell(CURRENT, report.place)
        return
    home = Path(kept.out)
    (home / report.place / REPORT).write_text(text + "\n", encoding="utf-8")
    _link(home / CURRENT, report.place)
    for name in (*report.tables, REPORT):
        if not (home / name).is_symlink():
            _link(home / name, f"{CURRENT}/{name}")


def _link(path: Path, to: str) -> None:
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(to)
    new.rename(path)
