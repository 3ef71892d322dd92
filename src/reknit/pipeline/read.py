"""Files to tables: which files there are, which of them are broken, and how many rows the others hold.

Owns: reading, and the count of rows that the files themselves promise. Must not know: what the rows mean.

Each file is looked at before anything is read from it: its footer says how many rows it has, and a file without a sound
footer is set aside with the reason. The footers are read where the data is: by this process, if Spark's workers are
beside it, else by the workers. ``whole`` reads each file to its end, too; it finds a damaged page in the middle, at the
price of reading everything twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from pyspark.sql.utils import is_remote

from reknit.pipeline.flow import BadFlow, columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BrokenFile", "Files", "look", "no_rows", "read_table"]

RUN = "run"
"""The column that says which run's trace a row is from: the directory that holds its nodes' directories."""

_LOOK = columns(path="string", rows="long", problem="string")
_CHARACTERS_MAX = 200
_Seen: TypeAlias = tuple[str, int | None, str | None]
"""A path, and how many rows it has, or what is wrong with it."""


@dataclass(frozen=True, slots=True)
class BrokenFile:
    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class Files:
    sound: list[str] = field(default_factory=list)
    rows: int = 0
    """That the sound files say they have."""
    broken: list[BrokenFile] = field(default_factory=list)


def look(spark: SparkSession, path: str, whole: bool = False) -> Files:
    """Every Parquet file at ``path`` or below; ``BadFlow`` if there is none."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        listed = reader.option("pathGlobFilter", "*.parquet").load(path).select("path")
        found = _look_here(listed) if _is_here(spark) and not whole else _look_there(listed, whole)
    except AnalysisException as error:
        raise BadFlow(f"{path}: there is nothing to read ({error.getCondition() or 'it cannot be listed'})") from error
    if not found:
        raise BadFlow(f"{path}: there is no Parquet file")
    sound = [(path, rows) for path, rows, _ in found if rows is not None]
    broken = [BrokenFile(path, problem) for path, _, problem in found if problem is not None]
    return Files([path for path, _ in sound], sum(rows for _, rows in sound), broken)


def _is_here(spark: SparkSession) -> bool:
    """Whether workers see the files that this process sees, and have no more cores than it."""
    return not is_remote() and (spark.conf.get("spark.master", "") or "").startswith("local[")


def _look_here(listed: DataFrame) -> list[_Seen]:
    """Without workers: to start them takes longer than to look at a thousand footers."""
    return [(path, *footer(path, whole=False)) for path in sorted(row["path"] for row in listed.collect())]


def _look_there(listed: DataFrame, whole: bool) -> list[_Seen]:
    seen = listed.mapInPandas(_look_whole if whole else _look_at_footers, _LOOK).collect()
    return sorted((row["path"], row["rows"], row["problem"]) for row in seen)


def _look_at_footers(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    return _look(batches, whole=False)


def _look_whole(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    return _look(batches, whole=True)


def _look(batches: Iterator[pd.DataFrame], whole: bool) -> Iterator[pd.DataFrame]:
    import pandas as pd

    for batch in batches:
        seen = [(path, *footer(path, whole)) for path in batch["path"]]
        yield pd.DataFrame(seen, columns=_LOOK.fieldNames()).astype({"rows": "Int64"})


def footer(uri: str, whole: bool) -> tuple[int | None, str | None]:
    """How many rows a file says it has, or what is wrong with it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        files, path = _place(uri)
        with files.open_input_file(path) as opened, pq.ParquetFile(opened, page_checksum_verification=True) as file:
            rows = sum(len(batch) for batch in file.iter_batches()) if whole else file.metadata.num_rows
            return rows, None
    except (pa.ArrowException, OSError) as error:
        return None, " ".join(str(error).split())[:_CHARACTERS_MAX]


def _place(uri: str) -> tuple[Any, str]:
    """A file system, and the path in it. Names of local files are not escaped, whatever is in them."""
    from pyarrow import fs

    if uri.startswith("file:"):
        return fs.LocalFileSystem(), "/" + uri.removeprefix("file:").lstrip("/")
    files, path = fs.FileSystem.from_uri(uri)
    return files, path


def read_table(spark: SparkSession, files: Files, schema: StructType, what: str) -> DataFrame:
    """The rows of the sound files, with the columns of ``schema``, as its types; ``BadFlow`` names one that is missing.

    A column ``run`` that the files do not have is the directory of the trace that a row is from.
    """
    if not files.sound:
        return no_rows(spark, schema)
    rows = spark.read.parquet(*files.sound)
    missing = [name for name in schema.fieldNames() if name not in (*rows.columns, RUN)]
    if missing:
        raise BadFlow(f"{what}: there is no column {missing[0]}; there are {', '.join(rows.columns)}")
    if RUN in schema.fieldNames() and RUN not in rows.columns:
        _check_runs(files.sound)
    return rows.select(*(_column(rows, each) for each in schema.fields))


def no_rows(spark: SparkSession, schema: StructType) -> DataFrame:
    """A table without a row. Spark would start a worker to make one of an empty list."""
    return spark.range(0).select(*(F.lit(None).cast(each.dataType).alias(each.name) for each in schema.fields))


def _column(rows: DataFrame, wanted: Any) -> Any:
    if wanted.name == RUN and RUN not in rows.columns:
        path = F.col("_metadata.file_path")
        return F.regexp_extract(path, r"([^/]*)/node-[^/]*/[^/]*$", 1).alias(RUN)
    return F.col(f"`{wanted.name}`").cast(wanted.dataType).alias(wanted.name)


def _check_runs(paths: list[str]) -> None:
    """Two traces whose directories have the same name would be taken for one."""
    homes: dict[str, str] = {}
    for path in paths:
        home = path.rpartition("/node-")[0]
        if not home:
            raise BadFlow(f"{path}: no trace; the files of one lie in directories node-NAME")
        if homes.setdefault(home.rpartition("/")[2], home) != home:
            raise BadFlow(f"two traces have the same name: {homes[home.rpartition('/')[2]]} and {home}")
