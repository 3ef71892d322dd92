"""The segments that a batch is given: read as rows, and those that cannot be read set aside.

Owns: which segments a stream is given, and finding the broken ones. Must not know: what the records say.

Spark's own stream of rows ends at the first file that it cannot read, or passes over it unseen if it is told to. So
the stream is one of files: its checkpoint knows which have been given to which batch, and the batch reads them. Each
file's footer is looked at first, and says how many rows there have to be. A page that is damaged further inside is seen
when it is read; then the files are tried by themselves, by halves, until the broken ones are known.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType, TimestampType

from reknit.pipeline.read import BrokenFile, Files, footers, no_rows
from reknit.pipeline.trace import TRACE
from reknit.pipeline.trouble import trouble

__all__ = ["listed", "read_segments", "sift"]

_SCHEMA = StructType([field for field in TRACE.schema.fields if field.name != "run"])
_FILE = StructType(
    [
        StructField("path", StringType()),
        StructField("modificationTime", TimestampType()),
        StructField("length", LongType()),
        StructField("content", BinaryType()),  # never asked for, so never read
    ]
)
_CHECKED = "parquet.page.verify-checksum.enabled"


def listed(spark: SparkSession, trace: str, segments_max: int) -> DataFrame:
    """A stream of the paths of segments."""
    reader = spark.readStream.format("binaryFile").schema(_FILE).option("pathGlobFilter", "segment-*.parquet")
    return reader.option("maxFilesPerTrigger", segments_max).load(f"{trace}/node-*").select("path")


def read_segments(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Their records, each with its run: the directory that holds the nodes' directories."""
    if not paths:
        return no_rows(spark, StructType([*_SCHEMA.fields, StructField("run", StringType())]))
    rows = spark.read.schema(_SCHEMA).option(_CHECKED, "true").parquet(*paths)
    return rows.withColumn("run", F.regexp_extract(F.col("_metadata.file_path"), r"([^/]*)/node-[^/]*/[^/]*$", 1))


def sift(spark: SparkSession, files: Files) -> Files:
    """Those of them that can be read to their end; the others are broken, too."""
    found = _broken(spark, files.sound)
    gone = {each.path for each in found}
    sound = [path for path in files.sound if path not in gone]
    return footers(spark, spark.createDataFrame([(path,) for path in sound], "path string"), files.broken + found)


def _broken(spark: SparkSession, paths: list[str]) -> list[BrokenFile]:
    if not paths or (problem := _problem(spark, paths)) is None:
        return []
    if len(paths) == 1:
        return [BrokenFile(paths[0], problem)]
    half = len(paths) // 2
    return _broken(spark, paths[:half]) + _broken(spark, paths[half:])


def _problem(spark: SparkSession, paths: list[str]) -> str | None:
    """What Spark has to say when it reads all of them. It depends on the kind of session as what it is raised."""
    try:
        read_segments(spark, paths).write.format("noop").mode("overwrite").save()
    except Exception as error:
        return trouble(error)
    return None
