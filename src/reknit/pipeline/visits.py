"""Visits: from check-ins to who stayed in which cell, how often and how long.

Owns: the transforms behind section 6.1.1 and Figure 5 of DYNATOPS. Must not know: files, or how a flow is run.

A *visit* is a longest run of consecutive check-ins of one user in one cell, and starts with the first of them. They
are in the order of time, latitude, longitude; exact copies count once. A visit lasts until the user's next one starts,
which is its *linger* time; the last visit of a user is *open*. A *pair* is a user and a cell that the user has visited.

Everything about one user is decided by one pass over his check-ins in their order: one shuffle and one sort, whatever
their number. The aggregation and the second window find their rows where the first has put them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from reknit.pipeline.checkins import Window as Where
from reknit.pipeline.flow import columns
from reknit.pipeline.grid import parse_grid

__all__ = ["CELLS", "LINGERS", "PAIRS", "REPEATS", "STATISTICS", "VISITS"]
__all__ += ["cells", "lingers", "pairs", "repeats", "statistics", "visits"]

DAY_S = 86_400.0
WEEK_S = 7 * DAY_S
HOUR_S = 3_600.0
TOP_CELLS = 10

VISITS = columns(
    user_id="long",
    visit="long",
    cell="long",
    start="timestamp",
    last="timestamp",
    checkins="long",
    rows="long",
    linger_s="double",
)
"""``visit`` counts a user's visits from 1 on; ``rows`` are all its check-ins, copies too; an open one has no linger."""


def visits(where: Where, checkins: DataFrame) -> DataFrame:
    cell = parse_grid(where.grid).cell(F.col("lat"), F.col("lon"))
    history = Window.partitionBy("user_id").orderBy("ts", "lat", "lon")
    marked = checkins.withColumn("cell", cell).select(
        "user_id", "ts", "lat", "lon", "cell", _copy(history).alias("copy"), _new(history).alias("new")
    )
    upto = history.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    numbered = marked.withColumn("visit", F.sum("new").over(upto))
    stays = numbered.groupBy("user_id", "visit").agg(
        F.min("cell").alias("cell"),
        F.min("ts").alias("start"),
        F.max("ts").alias("last"),
        F.sum(1 - F.col("copy")).alias("checkins"),
        F.count(F.lit(1)).alias("rows"),
    )
    following = F.lead("start").over(Window.partitionBy("user_id").orderBy("visit"))
    linger = (F.unix_micros(following) - F.unix_micros("start")) / F.lit(1e6)
    return stays.withColumn("linger_s", linger).select(*VISITS.fieldNames())


def _copy(history: WindowSpec) -> Column:
    same = [F.col(name) == F.lag(name).over(history) for name in ("ts", "lat", "lon")]
    return F.when(same[0] & same[1] & same[2], F.lit(1)).otherwise(F.lit(0)).cast("long")


def _new(history: WindowSpec) -> Column:
    """Whether a visit starts here: in another cell than before, or nowhere before."""
    stays = F.col("cell") == F.lag("cell").over(history)
    return F.when(stays, F.lit(0)).otherwise(F.lit(1)).cast("long")


PAIRS = columns(user_id="long", cell="long", visits="long", checkins="long", first="timestamp", last="timestamp")


def pairs(where: Where, visits: DataFrame) -> DataFrame:
    return (
        visits.groupBy("user_id", "cell")
        .agg(
            F.count(F.lit(1)).alias("visits"),
            F.sum("checkins").alias("checkins"),
            F.min("start").alias("first"),
            F.max("last").alias("last"),
        )
        .select(*PAIRS.fieldNames())
    )


CELLS = columns(cell="long", visits="long", users="long", checkins="long")


def cells(where: Where, pairs: DataFrame) -> DataFrame:
    """By cell: a pair is one user there."""
    return (
        pairs.groupBy("cell")
        .agg(F.sum("visits").alias("visits"), F.count(F.lit(1)).alias("users"), F.sum("checkins").alias("checkins"))
        .orderBy("cell")
        .select(*CELLS.fieldNames())
    )


# --- Figure 5

REPEATS = columns(repeats="string", pairs="long", share="double", place="int")
"""Figure 5a: how many pairs were visited how often."""

_REPEATS = (("1", 1, 1), ("2", 2, 2), ("3-5", 3, 5), ("6-10", 6, 10), (">10", 11, None))


def repeats(where: Where, pairs: DataFrame) -> DataFrame:
    counted = [_classed(F.col("visits"), low, high) for _, low, high in _REPEATS]
    return _classes(pairs, [label for label, _, _ in _REPEATS], counted, "repeats", "pairs").select(
        *REPEATS.fieldNames()
    )


def _classed(value: Column, low: int, high: int | None) -> Column:
    return (value >= low) if high is None else (value >= low) & (value <= high)


LINGERS = columns(linger="string", visits="long", share="double", place="int")
"""Figure 5b: how many visits lasted how long; those that are not open."""

_LINGERS = (("<1h", 0.0, HOUR_S), ("1h-1d", HOUR_S, DAY_S), ("1d-7d", DAY_S, WEEK_S), (">=7d", WEEK_S, float("inf")))


def lingers(where: Where, visits: DataFrame) -> DataFrame:
    lasted = F.col("linger_s")
    counted = [(lasted >= low) & (lasted < high) for _, low, high in _LINGERS]
    closed = visits.where(lasted.isNotNull())
    return _classes(closed, [label for label, _, _ in _LINGERS], counted, "linger", "visits").select(
        *LINGERS.fieldNames()
    )


def _classes(rows: DataFrame, labels: list[str], within: list[Column], label: str, count: str) -> DataFrame:
    """One row for each class, those without a member too, in their order."""
    total = F.count(F.lit(1))
    counts = [
        F.struct(
            F.lit(name).alias(label),
            F.count_if(inside).alias(count),
            F.when(total > 0, F.count_if(inside) / total).alias("share"),
            F.lit(place).alias("place"),
        )
        for place, (name, inside) in enumerate(zip(labels, within, strict=True))
    ]
    return rows.agg(F.array(*counts).alias("all")).select(F.inline("all")).orderBy("place")


# --- section 6.1.1

STATISTICS = columns(statistic="string", value="double")


def statistics(where: Where, visits: DataFrame, pairs: DataFrame, cells: DataFrame) -> DataFrame:
    """One row for each number; shares "of all" close an open visit at the latest check-in."""
    latest = visits.agg(F.max("last").alias("latest"))
    measured = visits.crossJoin(F.broadcast(latest)).select("*", _linger_of_all().alias("linger_all_s"))
    of_visits = measured.agg(*_of_visits())
    of_pairs = pairs.agg(
        F.countDistinct("user_id").alias("users"),
        F.count(F.lit(1)).alias("unique_pairs"),
        F.count_if(F.col("visits") == 1).alias("pairs_once"),
    )
    top = cells.orderBy(F.desc("visits"), "cell").limit(TOP_CELLS).agg(F.sum("visits").alias("top_visits"))
    of_cells = cells.agg(F.count(F.lit(1)).alias("cells_used"), F.sum("checkins").alias("checkins")).crossJoin(top)
    found = of_visits.crossJoin(of_pairs).crossJoin(of_cells)
    named = found.select(*found.columns, *_shares())
    shown = [name for name in named.columns if name != "top_visits"]
    return named.select(
        F.inline(F.array(*(F.struct(F.lit(name).alias("statistic"), _double(name)) for name in sorted(shown))))
    ).select(*STATISTICS.fieldNames())


def _double(name: str) -> Column:
    return F.col(name).cast("double").alias("value")


def _linger_of_all() -> Column:
    until_latest = (F.unix_micros("latest") - F.unix_micros("start")) / F.lit(1e6)
    return F.coalesce(F.col("linger_s"), until_latest)


def _of_visits() -> list[Column]:
    closed, every = F.col("linger_s"), F.col("linger_all_s")
    return [
        F.count(F.lit(1)).alias("visits"),
        F.count_if(closed.isNull()).alias("open_visits"),
        _share(closed < DAY_S, closed).alias("share_linger_lt_1d_closed"),
        _share(closed > WEEK_S, closed).alias("share_linger_gt_7d_closed"),
        _share(every < DAY_S, every).alias("share_linger_lt_1d_all"),
        _share(every > WEEK_S, every).alias("share_linger_gt_7d_all"),
        F.percentile(closed, F.lit(0.5)).alias("linger_median_s_closed"),
    ]


def _share(of: Column, among: Column) -> Column:
    """Null among none."""
    return F.when(F.count(among) > 0, F.count_if(of) / F.count(among))


def _shares() -> list[Column]:
    return [
        F.try_divide("pairs_once", "unique_pairs").alias("share_pairs_once"),
        F.try_divide("top_visits", "visits").alias(f"share_visits_top{TOP_CELLS}_cells"),
    ]
