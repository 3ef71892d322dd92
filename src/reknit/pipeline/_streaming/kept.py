"""What a stream keeps on disk: updates for good, the state for the next batch, and the note that closes each.

Owns: the layout of a stream's directory, and what of it may go. Must not know: what is counted.

A batch writes under its number, so one that is done again replaces itself; it reads what the batch before has left. Its
*note* comes last, and what has no note does not count. Every so many batches their updates are put together, each kind
in its way, in one piece that is not touched again: so the files that have to be opened grow slowly, and nothing is
written more than twice. What a piece stands for is deleted some batches later, when nobody will do one of them again.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from reknit.pipeline._streaming.updates import UPDATES
from reknit.pipeline.read import no_rows
from reknit.pipeline.run import is_remote

__all__ = ["COMPACT_EVERY", "STATES_KEPT", "Kept", "Note"]

STATES_KEPT = 3
"""Of the last batches: the one before is needed to do a batch again."""
COMPACT_EVERY = 50
"""Batches whose updates become one piece."""

_NUMBERED = re.compile(r"[a-z]+=([0-9]+)")


class Note(msgspec.Struct, frozen=True):
    """Of a batch that has come to its end, for the next one."""

    batch: int = -1
    compacted: int = -1
    """Updates up to this batch lie in pieces."""
    settled: int = -1
    """Events that were first seen up to this batch are done with."""
    latest: float | None = None
    """The latest time of all records until now."""
    passed: float | None = None
    """The watermark after the batch."""
    ends: tuple[tuple[int, float], ...] = ()
    """Of each batch whose records may still be asked for: the latest time until its end."""
    files: int = 0
    rows: int = 0
    """Read, in all batches until now."""


@dataclass(frozen=True, slots=True)
class Kept:
    spark: SparkSession
    out: str

    # --- updates

    def write(self, rows: DataFrame, name: str, batch: int) -> None:
        """Those of a batch."""
        schema = UPDATES[name].schema
        rows.select(*schema.fieldNames()).write.mode("overwrite").parquet(f"{self.out}/updates/{name}/batch={batch}")

    def all(self, name: str, note: Note) -> DataFrame:
        """What all batches have written up to this one: one that has not come to its end will be done again."""
        pieces = self._numbered(f"{self.out}/pieces/{name}", name, "upto").where(F.col("upto") <= note.compacted)
        return pieces.drop("upto").unionByName(self._since(name, note))

    def _since(self, name: str, note: Note) -> DataFrame:
        """What does not lie in a piece."""
        rows = self._numbered(f"{self.out}/updates/{name}", name, "batch")
        return rows.where(F.col("batch").between(note.compacted + 1, note.batch)).drop("batch")

    def _numbered(self, path: str, name: str, number: str) -> DataFrame:
        return self._read(path, StructType([*UPDATES[name].schema.fields, StructField(number, LongType())]))

    def compact(self, note: Note) -> Note:
        """All updates since the last piece become one."""
        for name, update in UPDATES.items():
            if self._has(f"{self.out}/updates/{name}"):
                piece = update.fold(self._since(name, note)).select(*update.schema.fieldNames())
                path = f"{self.out}/pieces/{name}/upto={note.batch}"
                piece.coalesce(1).write.mode("overwrite").parquet(path)
        return msgspec.structs.replace(note, compacted=note.batch)

    def _has(self, path: str) -> bool:
        try:
            _ = self.spark.read.schema("batch long").parquet(path).columns
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return False
        return True

    # --- state

    def keep(self, rows: DataFrame, name: str, batch: int, schema: StructType, by: tuple[str, ...] = ()) -> None:
        writer = rows.select(*schema.fieldNames(), *by).write.mode("overwrite")
        writer.partitionBy(*by).parquet(f"{self.out}/state/{name}/batch={batch}")

    def state(self, name: str, batch: int, schema: StructType) -> DataFrame:
        return self._read(f"{self.out}/state/{name}/batch={batch}", schema)

    def states(self, name: str, schema: StructType, upto: int, by: tuple[str, ...] = ()) -> DataFrame:
        """That of all batches up to this one, with the columns that name directories."""
        more = [StructField(each, LongType()) for each in ("batch", *by)]
        rows = self._read(f"{self.out}/state/{name}", StructType([*schema.fields, *more]))
        return rows.where(F.col("batch") <= upto)

    def _read(self, path: str, schema: StructType) -> DataFrame:
        try:
            rows = self.spark.read.schema(schema).parquet(path)
            _ = rows.columns  # through Spark Connect nothing is looked at before that
            return rows
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return no_rows(self.spark, schema)

    # --- notes: small files, which this process writes itself where it can

    @property
    def _here(self) -> bool:
        return not is_remote(self.out) and os.path.isdir(self.out)

    def done(self, note: Note) -> None:
        self.tell(f"state/done/batch={note.batch}", msgspec.json.encode(note).decode())

    def last(self) -> Note:
        """Of the last batch that has come to its end."""
        texts = self.told("state/done", "/*")
        return max(texts, key=lambda note: note.batch, default=Note())

    def before(self, batch: int) -> Note:
        return next(iter(self.told(f"state/done/batch={batch - 1}")), Note())

    def told(self, path: str, below: str = "") -> list[Note]:
        return [msgspec.json.decode(text, type=Note) for text in self.texts(path, below)]

    def texts(self, path: str, below: str = "") -> list[str]:
        """The lines of small files in a directory, or in those below it."""
        if self._here:
            files = Path(self.out, path).glob(f"{below.lstrip('/')}/*.txt" if below else "*.txt")
            return [line for file in sorted(files) for line in file.read_text(encoding="utf-8").splitlines()]
        try:
            return [row["value"] for row in self.spark.read.text(f"{self.out}/{path}{below}").select("value").collect()]
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return []

    def tell(self, path: str, text: str) -> None:
        """One line, whole or not at all."""
        if not self._here:
            line = self.spark.createDataFrame([(text,)], "value string")
            line.coalesce(1).write.mode("overwrite").text(f"{self.out}/{path}")
            return
        place = Path(self.out, path)
        place.mkdir(parents=True, exist_ok=True)
        partial = place / ".partial"
        partial.write_text(text + "\n", encoding="utf-8")
        partial.rename(place / "told.txt")

    # --- what may go

    def forget(self, batch: int, lasting: Mapping[str, str]) -> None:
        """What no batch will ask for again, when this one is done. At another place than this machine it is left.

        ``lasting``: states that are asked for by more than the next batch, and by what their directories are named.
        """
        old = batch - STATES_KEPT
        if not self._here or old < 0:
            return
        note = self.before(old + 1)
        for place in self._places("state/*", "batch"):
            if place.parent.name not in lasting and _number(place) <= old:
                shutil.rmtree(place, ignore_errors=True)
        for place in self._places("updates/*", "batch"):
            if _number(place) <= note.compacted:
                shutil.rmtree(place, ignore_errors=True)
        needed = min((number for number, _ in note.ends), default=note.batch + 1)
        for name, by in lasting.items():
            for place in self._places(f"state/{name}", "batch"):
                self._thin(place, by, note.settled, needed)

    def _thin(self, place: Path, by: str, settled: int, needed: int) -> None:
        """By what its directories are named: those of events that are done with; else all, when all batches are."""
        gone = [each for each in place.glob(f"{by}=*") if _number(each) <= settled] if by else []
        for each in gone:
            shutil.rmtree(each, ignore_errors=True)
        if not any(place.glob(f"{by}=*")) if by else _number(place) < needed:
            shutil.rmtree(place, ignore_errors=True)

    def _places(self, where: str, number: str) -> Iterator[Path]:
        return (each for each in Path(self.out).glob(f"{where}/{number}=*") if _NUMBERED.fullmatch(each.name))


def _number(place: Path) -> int:
    match = _NUMBERED.fullmatch(place.name)
    return int(match[1]) if match else -1
