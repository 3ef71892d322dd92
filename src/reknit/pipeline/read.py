"""Files to tables: which files there are, which of them are broken, and how many rows the others hold.

Owns: reading, and the count of rows that the files themselves promise. Must not know: what the rows mean.

Each file is looked at before anything is read from it: its footer says how many rows it has, and a file without a sound
footer is set aside with the reason. The footers are read where the data is: by this process, if Spark's workers are
beside it, else by the workers. ``whole`` reads each file to its end, too; it finds a damaged page in the middle, at the
price of reading everything twice.

Files of one input need not have the same types: those that have are read together, and values become what the input
wants. A value that cannot is no reason to stop: its row is marked, and set aside by ``not_of_type``. A file that
lacks a column, or has something there that never can, is set aside as a whole, unless all are like that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from pyspark.sql.utils import is_remote

from reknit.pipeline.flow import BadFlow, Rule, columns
from reknit.pipeline.quarantine import AS_READ

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BrokenFile", "Files", "footers", "look", "no_rows", "not_of_type", "read_files", "read_table"]

RUN = "run"
"""The column that says which run's trace a row is from: the directory that holds its nodes' directories."""

_LOOK = columns(path="string", rows="long", problem="string", shape="string")
_CHARACTERS_MAX = 200
_Seen: TypeAlias = tuple[str, int | None, str | None, str]
"""A path, and how many rows it has, or what is wrong with it; and its shape."""

_WHOLE = (ByteType, ShortType, IntegerType, LongType)
_FRACTIONS = (FloatType, DoubleType, DecimalType)


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
    shapes: dict[str, dict[str, int]] = field(default_factory=dict)
    """The sound files with their rows, by their shape: files that have the same columns of the same types."""

    def without(self, problems: dict[str, str]) -> Files:
        """Without the files of some shapes: by shape, what is wrong with them."""
        left = {shape: paths for shape, paths in self.shapes.items() if shape not in problems}
        unfit = [BrokenFile(path, why) for shape, why in problems.items() for path in self.shapes[shape]]
        return _files(left, [*self.broken, *unfit])


def _files(shapes: dict[str, dict[str, int]], broken: list[BrokenFile]) -> Files:
    sound = {path: rows for paths in shapes.values() for path, rows in paths.items()}
    return Files(sorted(sound), sum(sound.values()), sorted(broken, key=lambda each: each.path), shapes)


def look(spark: SparkSession, path: str, whole: bool = False, newer_than: float = 0.0) -> Files:
    """Every Parquet file at ``path`` or below; ``BadFlow`` if there is none.

    ``newer_than``: files that were written before, in seconds since 1970, are not even opened.
    """
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        listed = reader.option("pathGlobFilter", "*.parquet").load(path)
        if newer_than:
            listed = listed.where(F.col("modificationTime") >= F.timestamp_seconds(F.lit(newer_than)))
        listed = listed.select("path")
        found = _look_here(listed) if _is_here(spark) and not whole else _look_there(listed, whole)
    except AnalysisException as error:
        raise BadFlow(f"{path}: there is nothing to read ({error.getCondition() or 'it cannot be listed'})") from error
    if not found:
        raise BadFlow(f"{path}: there is no {'new ' if newer_than else ''}Parquet file")
    return _by_shape(found)


def footers(spark: SparkSession, listed: DataFrame, broken: Sequence[BrokenFile] = ()) -> Files:
    """The files whose paths are given, by their footers; ``broken`` are known to be that already."""
    return _by_shape(_look_here(listed) if _is_here(spark) else _look_there(listed, whole=False), broken)


def _by_shape(found: list[_Seen], broken: Sequence[BrokenFile] = ()) -> Files:
    shapes: dict[str, dict[str, int]] = {}
    for file, rows, _, shape in found:
        if rows is not None:
            shapes.setdefault(shape, {})[file] = rows
    bad = [BrokenFile(file, problem) for file, _, problem, _ in found if problem is not None]
    return _files(shapes, [*broken, *bad])


def _is_here(spark: SparkSession) -> bool:
    """Whether workers see the files that this process sees, and have no more cores than it."""
    return not is_remote() and (spark.conf.get("spark.master", "") or "").startswith("local[")


def _look_here(listed: DataFrame) -> list[_Seen]:
    """Without workers: to start them takes longer than to look at a thousand footers."""
    return [(path, *footer(path, whole=False)) for path in sorted(row["path"] for row in listed.collect())]


def _look_there(listed: DataFrame, whole: bool) -> list[_Seen]:
    seen = listed.mapInPandas(_look_whole if whole else _look_at_footers, _LOOK).collect()
    return sorted((row["path"], row["rows"], row["problem"], row["shape"]) for row in seen)


def _look_at_footers(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    return _look(batches, whole=False)


def _look_whole(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    return _look(batches, whole=True)


def _look(batches: Iterator[pd.DataFrame], whole: bool) -> Iterator[pd.DataFrame]:
    import pandas as pd

    for batch in batches:
        seen = [(path, *footer(path, whole)) for path in batch["path"]]
        yield pd.DataFrame(seen, columns=_LOOK.fieldNames()).astype({"rows": "Int64"})


def footer(uri: str, whole: bool) -> tuple[int | None, str | None, str]:
    """How many rows a file says it has, or what is wrong with it; and its shape."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        files, path = _place(uri)
        with files.open_input_file(path) as opened, pq.ParquetFile(opened, page_checksum_verification=True) as file:
            rows = sum(len(batch) for batch in file.iter_batches()) if whole else file.metadata.num_rows
            return rows, None, _shape(file.schema)
    except (pa.ArrowException, OSError) as error:
        return None, " ".join(str(error).split())[:_CHARACTERS_MAX], ""


def _shape(schema: Any) -> str:
    """As the file has it: columns that Spark reads as the same type have the same text."""
    found = [schema.column(number) for number in range(len(schema))]
    return "; ".join(f"{each.path} {each.physical_type} {each.logical_type}" for each in found)


def _place(uri: str) -> tuple[Any, str]:
    """A file system, and the path in it. Names of local files are not escaped, whatever is in them."""
    from pyarrow import fs

    if uri.startswith("file:"):
        return fs.LocalFileSystem(), "/" + uri.removeprefix("file:").lstrip("/")
    files, path = fs.FileSystem.from_uri(uri)
    return files, path


def read_table(spark: SparkSession, files: Files, schema: StructType, what: str) -> DataFrame:
    """The rows of the files that fit ``schema``; see ``read_files``."""
    return read_files(spark, files, schema, what)[0]


def read_files(spark: SparkSession, files: Files, schema: StructType, what: str) -> tuple[DataFrame, Files]:
    """The rows of the sound files, with the columns of ``schema``, as its types; and the files that they are from.

    Files that do not fit are broken in what is returned; ``BadFlow`` says why if none fits. A column ``run`` that the
    files do not have is the directory of the trace that a row is from. Where values may be none of their type, there
    is the column ``AS_READ``, too.
    """
    if not files.sound:
        return no_rows(spark, schema), files
    read: list[DataFrame] = []
    unfit: dict[str, str] = {}
    nameless: list[str] = []
    for shape, paths in files.shapes.items():
        rows = spark.read.parquet(*paths)
        if problem := _unfit(rows, schema):
            unfit[shape] = problem
        else:
            read.append(_as_wanted(rows, schema))
            nameless += paths if RUN in schema.fieldNames() and RUN not in rows.columns else ()
    if not read:
        raise BadFlow(f"{what}: {next(iter(unfit.values()))}")
    _check_runs(nameless)
    together = read[0]
    for each in read[1:]:
        together = together.unionByName(each, allowMissingColumns=True)
    return together, files.without(unfit)


def _unfit(rows: DataFrame, schema: StructType) -> str:
    """Why these rows cannot become the wanted ones; empty if they can."""
    try:
        found = {each.name: each.dataType for each in rows.schema.fields}
    except AnalysisException as error:
        return f"Spark cannot read it ({error.getCondition()})"
    for wanted in schema.fields:
        if wanted.name not in found:
            if wanted.name != RUN:
                return f"there is no column {wanted.name}; there are {', '.join(rows.columns)}"
        elif not _can_become(rows, wanted, found[wanted.name]):
            kinds = found[wanted.name].simpleString(), wanted.dataType.simpleString()
            return f"the column {wanted.name} is {kinds[0]}, which never is a {kinds[1]}"
    return ""


def _can_become(rows: DataFrame, wanted: StructField, found: DataType) -> bool:
    if not _may_fail(found, wanted.dataType):
        return True
    try:
        _ = rows.select(_named(wanted.name).try_cast(wanted.dataType)).schema
    except AnalysisException:
        return False
    return True


def _may_fail(found: DataType, wanted: DataType) -> bool:
    """Whether there are values of the one type that are none of the other."""
    if found == wanted or isinstance(wanted, StringType):
        return False
    if isinstance(wanted, TimestampType):
        return not isinstance(found, DateType | TimestampNTZType)
    if isinstance(wanted, DoubleType):
        return not isinstance(found, (*_WHOLE, *_FRACTIONS))
    if isinstance(found, _WHOLE) and isinstance(wanted, _WHOLE):
        return _WHOLE.index(type(found)) > _WHOLE.index(type(wanted))
    return True


def _named(name: str) -> Column:
    return F.col(f"`{name}`")


def _as_wanted(rows: DataFrame, schema: StructType) -> DataFrame:
    found = {each.name: each.dataType for each in rows.schema.fields}
    doubtful = [each for each in schema.fields if each.name in found and _may_fail(found[each.name], each.dataType)]
    marks = [_as_read(each, found[each.name]) for each in doubtful]
    kept = F.map_from_entries(F.filter(F.array(*marks), lambda each: each.isNotNull())) if marks else None
    beside = [F.when(F.size(kept) > 0, kept).alias(AS_READ)] if kept is not None else []
    return rows.select(*(_column(rows, each) for each in schema.fields), *beside)


def _as_read(wanted: StructField, found: DataType) -> Column:
    """Name and text of a value that is none of the type; null if it is one, or if there is none."""
    value = _named(wanted.name)
    cast = value.try_cast(wanted.dataType)
    none = value.isNotNull() & cast.isNull()
    if isinstance(found, _FRACTIONS) and isinstance(wanted.dataType, _WHOLE):
        none = none | F.coalesce(cast.try_cast(found) != value, F.lit(False))  # it would be cut off
    return F.when(none, F.struct(F.lit(wanted.name).alias("key"), value.cast("string").alias("value")))


def not_of_type(rows: DataFrame, schema: StructType) -> tuple[Rule, ...]:
    """What is wrong with rows that have a value which is none of its column's type; to stand before other rules."""
    if AS_READ not in rows.columns:
        return ()
    return tuple(
        Rule(f"{each.name} is not a {each.dataType.simpleString()}", F.map_contains_key(F.col(AS_READ), each.name))
        for each in schema.fields
    )


def no_rows(spark: SparkSession, schema: StructType) -> DataFrame:
    """A table without a row. Spark would start a worker to make one of an empty list."""
    return spark.range(0).select(*(F.lit(None).cast(each.dataType).alias(each.name) for each in schema.fields))


def _column(rows: DataFrame, wanted: StructField) -> Column:
    if wanted.name == RUN and RUN not in rows.columns:
        path = F.col("_metadata.file_path")
        return F.regexp_extract(path, r"([^/]*)/node-[^/]*/[^/]*$", 1).alias(RUN)
    return _named(wanted.name).try_cast(wanted.dataType).alias(wanted.name)


def _check_runs(paths: list[str]) -> None:
    """Two traces whose directories have the same name would be taken for one."""
    homes: dict[str, str] = {}
    for path in paths:
        home = path.rpartition("/node-")[0]
        if not home:
            raise BadFlow(f"{path}: no trace; the files of one lie in directories node-NAME")
        if homes.setdefault(home.rpartition("/")[2], home) != home:
            raise BadFlow(f"two traces have the same name: {homes[home.rpartition('/')[2]]} and {home}")
