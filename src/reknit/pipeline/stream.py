"""``traffic`` while it happens: all tables of the batch, kept up as segments of a trace are written.

Owns: the streaming query, its checkpoint, who works when, and how it ends. Must not know: what is made of the tables.

The query is given each segment once, wherever it is started again: its checkpoint knows which. What it makes of a batch
is written under the number of the batch (``_streaming/kept.py``), so a batch that is done twice replaces itself, and it
reads nothing but its records and what the batches before have left. There are three kinds of results:

- *sums* by window (topics, links, brokers), and what was said last (subscriptions, lives): each batch adds its part;
- *delays*, which need all records of an event: those wait for each other, until the watermark has passed the event;
- *changes* of the tree, which need what happened between two moments that are known only later: windows are enough
  but for those in which a step was taken, so single moments are kept of these, and of windows that may still get one.

The watermark is the latest time that the batches before have seen, less what is allowed to be late. What comes later
than that is in no table; it is set aside, as is what is no record, and a segment that cannot be read. Otherwise a
stream's tables are, to the row, those that the batch makes of the same segments.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from types import TracebackType

import msgspec
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from reknit.pipeline._streaming.batch import TOO_LATE, Terms, work_on
from reknit.pipeline._streaming.kept import COMPACT_EVERY, Kept
from reknit.pipeline._streaming.publish import StreamReport, missing_in, publish
from reknit.pipeline._streaming.segments import listed
from reknit.pipeline._streaming.tables import tables_of
from reknit.pipeline.flow import BadFlow
from reknit.pipeline.report import refuse_gaps
from reknit.pipeline.run import is_remote
from reknit.pipeline.traffic import Watched
from reknit.pipeline.trouble import trouble

__all__ = ["LATE_S", "TABLES_S", "TOO_LATE", "StreamFailed", "Turns", "follow", "start", "tables", "write_tables"]

LATE_S = 60.0
"""How much later than the latest record one may come and still be counted."""
TABLES_S = 60.0
"""How long tables may stand before they are written anew."""
TABLES_SHARE = 4
"""Of the time, tables take such a part at most: after they were written, this many times as long is left to batches."""
SEGMENTS_MAX = 1_000
"""In one batch: when there is much to catch up with, that is in memory at once."""
POLL_S = 1
VERSION = 1
"""Of what is kept; raised when the code of today would misread what the code of yesterday has left."""


class StreamFailed(RuntimeError):
    """A batch could not be done; what is on disk is that of the batches before."""

    exit_code = 1


class Turns:
    """Batches and tables take turns. A copy for another process, where Spark Connect works on batches, has its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = False

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Turns], tuple[()]]:
        return Turns, ()

    def end(self) -> None:
        """When the batch under way is done, no other begins."""
        with self:
            self._over = True

    def work(self, deed: Callable[[], None]) -> None:
        with self:
            if self._over:
                raise StreamFailed("the stream is over")  # not done, so it will be done next time
            deed()


# --- the terms on which a directory was begun


class _Begun(msgspec.Struct, frozen=True):
    """What may not change as long as the directory is used: all that is kept depends on it."""

    trace: str
    window_s: float
    late_s: float
    version: int = VERSION


def _begin(kept: Kept, wanted: _Begun) -> None:
    """``BadFlow`` if the directory was begun otherwise."""
    if not is_remote(kept.out):
        os.makedirs(kept.out, exist_ok=True)
    texts = kept.texts("state/begun")
    if not texts:
        if kept.last().batch >= 0 or kept.texts("state/done", "/*"):
            raise BadFlow(f"{kept.out} is from another version of reknit: give another --out")
        kept.tell("state/begun", msgspec.json.encode(wanted).decode())
        return
    try:
        found = msgspec.json.decode(texts[0], type=_Begun)
    except msgspec.MsgspecError as error:
        raise BadFlow(f"{kept.out}: what it was begun with cannot be read ({error}): give another --out") from error
    for name in _Begun.__struct_fields__:
        if (was := getattr(found, name)) != (now := getattr(wanted, name)):
            raise BadFlow(f"{kept.out} was begun with {name} {was}, not {now}: give it the same, or another --out")


# --- the query


def start(
    spark: SparkSession,
    told: Watched,
    trace: str,
    out: str,
    every_s: float | None = None,
    late_s: float = LATE_S,
    segments_max: int = SEGMENTS_MAX,
    turns: Turns | None = None,
    compact_every: int = COMPACT_EVERY,
) -> StreamingQuery:
    """``every_s``: how often to look for segments; None: until all that is there now is read."""
    if not told.window_s > 0:
        raise BadFlow(f"window_s is {told.window_s}: it has to be larger than 0")
    _begin(Kept(spark, out), _Begun(trace if is_remote(trace) else os.path.abspath(trace), told.window_s, late_s))
    writer = listed(spark, trace, segments_max).writeStream.queryName("traffic")
    when = {"availableNow": True} if every_s is None else {"processingTime": f"{every_s} seconds"}
    work = _each(Terms(told, out, late_s, compact_every), turns or Turns())
    return writer.option("checkpointLocation", f"{out}/checkpoints/traffic").foreachBatch(work).trigger(**when).start()


def _each(terms: Terms, turns: Turns) -> Callable[[DataFrame, int], None]:
    def work(files: DataFrame, batch: int) -> None:
        turns.work(lambda: work_on(files, batch, terms))

    return work


def follow(
    spark: SparkSession,
    query: StreamingQuery,
    turns: Turns,
    told: Watched,
    out: str,
    tables_s: float = TABLES_S,
    ended: Callable[[], bool] = lambda: False,
    allow_gaps: bool = False,
) -> StreamReport:
    """Keep the tables up until the query has read all, or ``ended`` says so; then the batch under way is waited for.

    ``RowsLost`` at the end if the trace says that records are missing in it, unless that is allowed; tables that were
    written before it said so are left.
    """
    written, due = Kept(spark, out).last().batch, time.monotonic() + tables_s
    try:
        while query.isActive and not ended():
            query.awaitTermination(POLL_S)
            if query.isActive and time.monotonic() >= due:
                begun = time.monotonic()
                with turns:
                    kept = Kept(spark, out)
                    note = kept.last()
                    if note.batch > written and (allow_gaps or not missing_in(kept, note)):
                        write_tables(spark, told, out, whole=False, allow_gaps=True)
                        written = note.batch
                due = time.monotonic() + max(tables_s, TABLES_SHARE * (time.monotonic() - begun))
        turns.end()
        query.stop()
        if not ended() and (failed := query.exception()) is not None:
            raise failed
    except StreamingQueryException as error:
        raise StreamFailed(f"pipeline stream: {trouble(error)}") from error
    return write_tables(spark, told, out, allow_gaps=allow_gaps)


# --- the tables


def tables(spark: SparkSession, told: Watched, out: str, whole: bool = True) -> dict[str, DataFrame]:
    """All of ``traffic``, by name, of what has been read until now; what still waits counts as if all had come."""
    kept = Kept(spark, out)
    return tables_of(kept, kept.last(), told, whole)


def write_tables(
    spark: SparkSession, told: Watched, out: str, whole: bool = True, allow_gaps: bool = False
) -> StreamReport:
    """In the place of those before, all at once. ``RowsLost`` if there are gaps that are not allowed."""
    kept = Kept(spark, out)
    note = kept.last()
    if not allow_gaps:
        refuse_gaps("trace", missing_in(kept, note))
    return publish(kept, note, tables_of(kept, note, told, whole))
