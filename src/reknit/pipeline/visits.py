"""Visits: from check-ins to who stayed in which cell, how often and how long.

Owns: the transforms behind section 6.1.1 and Figure 5 of DYNATOPS. Must not know: files, or how a flow is run.

A *visit* is a longest run of consecutive check-ins of one user in one cell, and starts with the first of them. They
are in the order of time, latitude, longitude; exact copies count once. A visit lasts until the user's next one starts,
which is its *linger* time; the last visit of a user is *open*. A *pair* is a user and a cell that the user has visited.

Everything about one user is decided by one pass over his check-ins in their order: one shuffle and one sort, whatever
their number. That pass keeps the first check-in of each visit only, with its number, and the user's last; how long a
visit is, and how many check-ins it has, is the difference to the next one. So what comes after sees few rows.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reknit.pipeline.checkins import Window as Where
from reknit.pipeline.flow import Part, columns
from reknit.pipeline.grid import parse_grid

__all__ = ["CELLS", "CLOSED", "LINGERS", "PAIRS", "REPEATS", "STATISTICS", "VISITS"]
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
    ends = _ends(checkins.withColumn("cell", cell))
    following = Window.partitionBy("user_id").orderBy("row")
    is_open = F.col("next_row").isNull() | ~F.col("next_new")
    over = F.when(is_open, F.lit(1)).otherwise(F.lit(0))  # the last row of an open visit is its own, not the next one's
    stays = ends.select(
        "*",
        F.row_number().over(following).cast("long").alias("visit"),
        *(F.lead(name).over(following).alias(f"next_{name}") for name in ("new", "row", "place", "ts", "before")),
    ).where("new")
    linger = (F.unix_micros("next_ts") - F.unix_micros("ts")) / F.lit(1e6)
    return stays.select(
        "user_id",
        "visit",
        "cell",
        F.col("ts").alias("start"),
        F.coalesce(F.when(is_open, F.col("next_ts")).otherwise(F.col("next_before")), F.col("ts")).alias("last"),
        (F.coalesce("next_place", "place") - F.col("place") + over).cast("long").alias("checkins"),
        (F.coalesce("next_row", "row") - F.col("row") + over).cast("long").alias("rows"),
        F.when(~is_open, linger).alias("linger_s"),
    ).select(*VISITS.fieldNames())


def _ends(checkins: DataFrame) -> DataFrame:
    """Of each user the check-ins with which a visit starts (``new``), and his last: the others change nothing."""
    history = Window.partitionBy("user_id").orderBy("ts", "lat", "lon")
    walked = checkins.select(
        "user_id",
        "ts",
        "cell",
        F.row_number().over(history).alias("row"),
        F.dense_rank().over(history).alias("place"),  # copies have the same
        F.lag("ts").over(history).alias("before"),
        F.lag("cell").over(history).alias("cell_before"),
        F.lead("ts").over(history).isNull().alias("end"),
    )
    new = F.coalesce(F.col("cell") != F.col("cell_before"), F.lit(True))
    return walked.withColumn("new", new).where(F.col("new") | F.col("end"))


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


CLOSED = Part("closed visits", lambda where: F.col("linger_s").isNotNull())
"""An open one has no linger time."""


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
        F.count(F.lit(1)).alias("unique_pairs"),
        F.count_if(F.col("visits") == 1).alias("pairs_once"),
    )
    top = cells.orderBy(F.desc("visits"), "cell").limit(TOP_CELLS).agg(F.sum("visits").alias("top_visits"))
    of_cells = cells.agg(F.count(F.lit(1)).alias("cells_used"), F.sum("checkins").alias("checkins")).crossJoin(top)
    found = of_visits.crossJoin(_median(visits)).crossJoin(of_pairs).crossJoin(of_cells)
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
        F.count_if(F.col("visit") == 1).alias("users"),
        F.count_if(closed.isNull()).alias("open_visits"),
        _share(closed < DAY_S, closed).alias("share_linger_lt_1d_closed"),
        _share(closed > WEEK_S, closed).alias("share_linger_gt_7d_closed"),
        _share(every < DAY_S, every).alias("share_linger_lt_1d_all"),
        _share(every > WEEK_S, every).alias("share_linger_gt_7d_all"),
    ]


def _median(visits: DataFrame) -> DataFrame:
    """Of all linger times, exactly. Counts say which hour it is in, and only what is in that hour is sorted: Spark
    itself would have every value in one place."""
    closed = visits.where(F.col("linger_s").isNotNull()).select(
        "linger_s", F.floor(F.col("linger_s") / HOUR_S).alias("hour")
    )
    hours = Window.orderBy("hour")
    upto, every = (hours.rowsBetween(Window.unboundedPreceding, end) for end in (0, Window.unboundedFollowing))
    counted = closed.groupBy("hour").agg(F.count(F.lit(1)).alias("many"))
    summed = counted.select("*", F.sum("many").over(upto).alias("upto"), F.sum("many").over(every).alias("total"))
    middle = {"low": F.floor((F.col("total") - 1) / 2), "high": F.floor(F.col("total") / 2)}  # of values, from 0 on
    placed = summed.withColumns({**middle, "before": F.col("upto") - F.col("many")})
    near = placed.where((F.col("upto") > F.col("low")) & (F.col("before") <= F.col("high")))
    inside = closed.join(F.broadcast(near.select("hour", "before", "low", "high")), "hour").agg(
        F.array_sort(F.collect_list("linger_s")).alias("values"),
        *(F.min(name).alias(name) for name in ("before", "low", "high")),
    )
    both = [F.get("values", (F.col(name) - F.col("before")).cast("int")) for name in ("low", "high")]
    return inside.select(((both[0] + both[1]) / 2).alias("linger_median_s_closed"))


def _share(of: Column, among: Column) -> Column:
    """Null among none."""
    return F.when(F.count(among) > 0, F.count_if(of) / F.count(among))


def _shares() -> list[Column]:
    return [
        F.try_divide("pairs_once", "unique_pairs").alias("share_pairs_once"),
        F.try_divide("top_visits", "visits").alias(f"share_visits_top{TOP_CELLS}_cells"),
    ]
