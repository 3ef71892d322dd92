"""What the network carried: rates by topic, the load of links, who wants what, how long events took, what changes cost.

Owns: the transforms behind ``traffic``. Must not know: what is planned from it.

Counts are by windows of time. A topic that nobody publishes to in a window has a rate of zero there, which the filter
of Eq. 8 has to see: rates go from the first window of their run to its last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reknit.pipeline.changes import CHANGE_ROWS, change_rows
from reknit.pipeline.flow import BadFlow, Parameters, Part, columns, told
from reknit.pipeline.journeys import JOURNEYS, deliveries
from reknit.pipeline.trace import PLACE, place, placed
from reknit.planning.rates import ALPHA, estimates
from reknit.trace.records import Kind

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CHANGES", "DELAYS", "HOT_TOPICS", "LOADS", "PUBLISHED", "RATES", "SUBSCRIPTIONS", "Watched"]
__all__ += ["changes", "delays", "hot_topics", "loads", "published", "rates", "subscriptions", "window_of"]
__all__ += ["TOPIC_SUMS", "held", "is_kind", "not_held", "not_hot", "part", "ranked", "summed"]


class Watched(Parameters, frozen=True):
    window_s: Annotated[float, told("the seconds of one window")] = 10.0
    alpha: Annotated[float, told("the weight of the latest window in the predicted rate (Eq. 8)")] = ALPHA
    top: Annotated[int, told("how many topics are hot")] = 20


def is_kind(*kinds: Kind) -> Column:
    return F.col("kind").isin([kind.value for kind in kinds])


def part(name: str, *kinds: Kind) -> Part:
    """The records of some kinds."""
    return Part(name, lambda told: is_kind(*kinds))


def window_of(told: Watched, time: Column | None = None) -> Column:
    """The number of the window that a record is in, or another moment."""
    if not told.window_s > 0:
        raise BadFlow(f"window_s is {told.window_s}: it has to be larger than 0")
    return F.floor((F.col("time") if time is None else time) / F.lit(told.window_s)).cast("long")


# --- rates

PUBLISHED = columns(run="string", window="long", topic="string", events="long", payload_bytes="long")


def published(told: Watched, trace: DataFrame) -> DataFrame:
    """By window and topic."""
    rows = trace.where(is_kind(Kind.PUBLISHED)).withColumn("window", window_of(told))
    counted = rows.groupBy("run", "window", "topic").agg(
        F.count(F.lit(1)).alias("events"), F.sum("payload_size").alias("payload_bytes")
    )
    return counted.select(*PUBLISHED.fieldNames())


RATES = columns(
    run="string",
    topic="string",
    window="long",
    since="double",
    events="long",
    rate="double",
    estimate="double",
    rows="long",
)
"""``rate`` in events per second; ``estimate`` is what is expected of the next window; ``rows`` of ``published``."""


def rates(told: Watched, published: DataFrame) -> DataFrame:
    ends = published.groupBy("run").agg(F.min("window").alias("begin"), F.max("window").alias("end"))
    rows = published.join(F.broadcast(ends), "run")
    window_s, alpha = told.window_s, told.alpha

    def follow(key: tuple[Any, ...], rows: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        run, topic = key
        windows = range(rows["begin"].iloc[0], rows["end"].iloc[0] + 1)
        counts = dict(zip(rows["window"], rows["events"], strict=True))
        events = [int(counts.get(window, 0)) for window in windows]
        seen = [count / window_s for count in events]
        since = [window * window_s for window in windows]
        rows_of = [int(window in counts) for window in windows]
        made = zip(windows, since, events, seen, estimates(seen, alpha), rows_of, strict=True)
        return pd.DataFrame([(run, topic, *each) for each in made], columns=RATES.fieldNames())

    return rows.groupBy("run", "topic").applyInPandas(follow, RATES).select(*RATES.fieldNames())


HOT_TOPICS = columns(
    run="string", rank="int", topic="string", published="long", delivered="long", crossed="long", crossed_bytes="long"
)
"""``crossed``: times that an event of the topic crossed a link."""


TOPIC_SUMS = ("published", "delivered", "crossed", "crossed_bytes")


def hot_topics(told: Watched, trace: DataFrame) -> DataFrame:
    return ranked(told, _by_topic(trace))


def not_hot(told: Watched, trace: DataFrame) -> DataFrame:
    """The records of all topics but the hottest."""
    others = _with_ranks(_by_topic(trace)).where(F.col("rank") > told.top)
    rows = F.coalesce(F.sum(F.col("published") + F.col("delivered") + F.col("crossed")), F.lit(0)).alias("rows")
    return others.agg(rows).select(
        F.lit("trace").alias("table"), F.lit("records of topics that are less hot").alias("reason"), "rows"
    )


def _by_topic(trace: DataFrame) -> DataFrame:
    return (
        trace.where(F.col("topic").isNotNull())
        .groupBy("run", "topic")
        .agg(
            F.count_if(is_kind(Kind.PUBLISHED)).alias("published"),
            F.count_if(is_kind(Kind.DELIVERED)).alias("delivered"),
            F.count_if(is_kind(Kind.FORWARDED)).alias("crossed"),
            F.sum(F.when(is_kind(Kind.FORWARDED), F.col("size")).otherwise(0)).alias("crossed_bytes"),
        )
    )


def ranked(told: Watched, counted: DataFrame) -> DataFrame:
    """The hottest, from what is counted of every topic."""
    hottest = _with_ranks(counted).where(F.col("rank") <= told.top)
    return hottest.orderBy("run", "rank").select(*HOT_TOPICS.fieldNames())


def _with_ranks(counted: DataFrame) -> DataFrame:
    order = Window.partitionBy("run").orderBy(F.desc("crossed"), F.desc("published"), "topic")
    return counted.withColumn("rank", F.row_number().over(order))


# --- links and brokers

LOADS = columns(run="string", window="long", node="string", peer="string", events="long", bytes="long")
"""The load matrix: what one broker gave to another in a window."""


def loads(told: Watched, trace: DataFrame) -> DataFrame:
    rows = trace.where(is_kind(Kind.FORWARDED)).withColumn("window", window_of(told))
    counted = rows.groupBy("run", "window", "node", "peer").agg(
        F.count(F.lit(1)).alias("events"), F.sum("size").alias("bytes")
    )
    return counted.select(*LOADS.fieldNames())


SUBSCRIPTIONS = columns(run="string", node="string", pattern_topic="string", selector="string", clients="long")
"""What the clients of each broker want at the end, and how many of them."""


def subscriptions(told: Watched, trace: DataFrame) -> DataFrame:
    counted = held(trace).groupBy("run", "node", "pattern_topic", "selector").agg(F.count(F.lit(1)).alias("clients"))
    return counted.select(*SUBSCRIPTIONS.fieldNames())


def held(trace: DataFrame, come: Kind = Kind.SUBSCRIBED, gone: Kind = Kind.UNSUBSCRIBED) -> DataFrame:
    """What each client wants at the end, by the broker that it is at: ``run``, ``node``, ``client``, the pattern.

    With ``joined`` and ``parted`` the same of groups that clients are in.
    """
    return _wishes(trace, come, gone).where(_over(come).isNull())


def not_held(
    told: Parameters, trace: DataFrame, come: Kind = Kind.SUBSCRIBED, gone: Kind = Kind.UNSUBSCRIBED
) -> DataFrame:
    """What was said of wishes and does not hold at the end: of what a client says of one, the last word counts."""
    wishes = _wishes(trace, come, gone)
    last = wishes.withColumn("reason", _over(come)).where(F.col("reason").isNotNull()).withColumn("rows", F.lit(1))
    earlier = wishes.select(F.lit(_SAID_AGAIN).alias("reason"), (F.col("words") - 1).alias("rows"))
    both = last.select("reason", "rows").unionByName(earlier).groupBy("reason")
    return both.agg(F.sum("rows").alias("rows")).select(F.lit("trace").alias("table"), "reason", "rows")


_SAID_AGAIN = "words about wishes after which there was another"


def _over(come: Kind = Kind.SUBSCRIBED) -> Column:
    """Why a wish does not hold at the end; null if it does."""
    return F.when(F.col("kind") != come.value, F.lit("wishes that were taken back")).when(
        F.col("at") <= F.col("begun"), F.lit("wishes that ended with a life of their broker")
    )


def _wishes(trace: DataFrame, come: Kind = Kind.SUBSCRIBED, gone: Kind = Kind.UNSUBSCRIBED) -> DataFrame:
    """Each wish of a client with its last word, and when the broker's life began."""
    rows = placed(trace.where(is_kind(come, gone, Kind.STARTED, Kind.CRASHED)))
    lives = rows.where(is_kind(Kind.STARTED, Kind.CRASHED)).groupBy("run", "node").agg(F.max(place()).alias("begun"))
    wish = ("run", "node", "client", "pattern_topic", "selector")
    last = rows.where(is_kind(come, gone)).groupBy(*wish)
    said = last.agg(
        F.max(F.struct(*PLACE)).alias("at"),
        F.max_by("kind", F.struct(*PLACE)).alias("kind"),
        F.count(F.lit(1)).alias("words"),
    )
    return said.join(F.broadcast(lives), ["run", "node"], "left")


# --- delays

DELAYS = columns(
    run="string",
    hops="int",
    deliveries="long",
    timed="long",
    mean_s="double",
    median_s="double",
    p99_s="double",
    longest_s="double",
)
"""From publication to delivery, by the links crossed; null where the trace does not tell the way. ``timed`` are those
deliveries whose event's publication is in the trace."""


def delays(told: Watched, trace: DataFrame) -> DataFrame:
    return summed(deliveries(placed(trace.where(is_kind(*JOURNEYS)))))


def summed(measured: DataFrame) -> DataFrame:
    # In whole nanoseconds: the sum of floats would depend on the order in which they come.
    mean_ns = F.try_divide(F.sum(F.round(F.col("delay") * 1e9).cast("long")), F.count("delay"))
    return (
        measured.groupBy("run", "hops")
        .agg(
            F.count(F.lit(1)).alias("deliveries"),
            F.count("delay").alias("timed"),
            (mean_ns / 1e9).alias("mean_s"),
            F.percentile("delay", F.lit(0.5)).alias("median_s"),
            F.percentile("delay", F.lit(0.99)).alias("p99_s"),
            F.max("delay").alias("longest_s"),
        )
        .orderBy("run", "hops")
        .select(*DELAYS.fieldNames())
    )


# --- changes

CHANGES = columns(
    run="string",
    change="int",
    kind="string",
    brokers="strings",
    begun="double",
    ended="double",
    steps="long",
    routes="long",
    crossed="long",
)
"""``routes``: entries of tables that changed meanwhile at those brokers; ``crossed``: events that they forwarded."""


def changes(told: Watched, trace: DataFrame) -> DataFrame:
    steps = placed(trace.where(is_kind(Kind.CHANGE))).select("run", *PLACE, "time", "peer", "detail")
    found = trace.sparkSession.createDataFrame(change_rows(steps.collect()), CHANGE_ROWS)
    others = trace.where(is_kind(Kind.ROUTE_ADDED, Kind.ROUTE_REMOVED, Kind.FORWARDED)).select(
        "run", "time", "node", "kind"
    )
    meanwhile = (
        (found["run"] == others["run"])
        & F.array_contains(found["brokers"], others["node"])
        & (others["time"] >= found["begun"])
        & (others["time"] <= found["ended"])
    )
    joined = found.join(others, meanwhile, "left").select(
        *(found[name] for name in found.columns), others["kind"].alias("seen")
    )
    counted = joined.groupBy(*found.columns).agg(
        F.count_if(F.col("seen").isin(Kind.ROUTE_ADDED.value, Kind.ROUTE_REMOVED.value)).alias("routes"),
        F.count_if(F.col("seen") == Kind.FORWARDED.value).alias("crossed"),
    )
    return counted.orderBy("run", "change").select(*CHANGES.fieldNames())
