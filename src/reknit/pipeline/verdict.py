"""The verdict over traces: what was lost, doubled, unwanted, out of order, or travelled in vain.

Owns: how the work is cut into pieces that know nothing of each other, and what is counted. Must not know: the
simulator, or what is right (see ``_judging``).

What happened to the tree is little, and everybody who judges needs it: it is gathered once and goes to every worker.
What happened to clients and events is much, and is cut twice. What a client is owed, got twice or out of its order
concerns that client alone, wherever its session moves. What follows from what is forgotten when all is calm, so causal
order is judged from one calm moment to the next. Whether an event crosses a link in vain is a question about one
record, once it is known who wanted what when all was calm last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from reknit.core.routing.table import GROUPS
from reknit.pipeline._judging.account import Account, Finding, Seen
from reknit.pipeline._judging.causal import Causality, Sessions, Whereabouts
from reknit.pipeline._judging.history import Entry, History, Place
from reknit.pipeline._judging.parasites import DISTURBING, Still, stills
from reknit.pipeline.changes import CHANGE_ROWS, change_rows
from reknit.pipeline.communities import LATE_S, PARASITES
from reknit.pipeline.communities import parasites as strangers
from reknit.pipeline.flow import BadFlow, Parameters, Part, columns, told
from reknit.pipeline.matching import CONTENT, matched, patterns_of
from reknit.pipeline.read import no_rows
from reknit.pipeline.trace import PLACE, place, placed
from reknit.trace.records import Kind

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CHANGES", "DELIVERIES", "FINDINGS", "MOMENTS", "SUBSCRIBERS", "VERDICTS", "WRONG", "Judged"]
__all__ += ["PARASITES", "changes", "findings", "moments", "parasites", "subscribers", "verdicts"]

CONTROL_RECORDS_MAX = 2_000_000
"""Records about the tree and about wishes, of all runs together; they are gathered in one place."""

WRONG = ("lost", "duplicated", "unwanted", "not fifo", "not causal", "in vain", "crossed again")


class Judged(Parameters, frozen=True):
    lasting: Annotated[bool, told("whether the brokers have stores, so that a crash ends no session")] = False
    flooding: Annotated[bool, told("whether brokers flood on purpose, so that nothing travels in vain")] = False
    stretch_max: Annotated[int, told("records between two calm moments up to which causal order is judged")] = 5_000_000
    peers: Annotated[bool, told("whether these are peers in communities, and not brokers with clients")] = False
    parents: Annotated[str, told('of peers: what is above a topic otherwise than by name, as {"a/b": ["a", "c"]}')] = ""
    late_s: Annotated[float, told("of peers: how long after leaving one may be sent events, to throw away")] = LATE_S


# --- moments: what is needed of each record, with its place

MOMENTS = columns(
    run="string",
    latest="double",
    order="long",
    node="string",
    epoch="int",
    time="double",
    kind="string",
    peer="string",
    client="string",
    detail="string",
    source="string",
    seq="long",
    topic="string",
    pattern="int",
    matched="ints",
    records="long",
)
"""``epoch``: how often all was calm before. ``pattern`` by its number, ``matched`` the numbers of those that match."""


def moments(told: Judged, trace: DataFrame) -> DataFrame:
    patterns = patterns_of(trace)
    spark = trace.sparkSession
    numbers = [(each.topic, each.selector, number) for number, each in enumerate(patterns)]
    numbered = spark.createDataFrame(numbers, "pattern_topic string, selector string, pattern int")
    rows = placed(trace).withColumn("selector", F.coalesce("selector", F.lit("")))
    rows = rows.join(F.broadcast(numbered), ["pattern_topic", "selector"], "left")
    rows = _with_epochs(rows, trace)
    of_events = trace.where(F.col("topic").isNotNull())
    contents = matched(of_events, patterns)
    same = [rows[name].eqNullSafe(contents[name]) for name in CONTENT]
    joined = rows.join(contents, same[0] & same[1] & same[2] & same[3], "left")
    chosen = [rows[name] for name in MOMENTS.fieldNames() if name not in ("matched", "records")]
    return joined.select(*chosen, contents["matched"], F.lit(1).cast("long").alias("records"))


def _with_epochs(rows: DataFrame, trace: DataFrame) -> DataFrame:
    """Only whoever says that all is calm is read for that."""
    who = trace.where(_is(Kind.CALM)).select("run", "node").distinct()
    calm = placed(trace.join(F.broadcast(who), ["run", "node"], "left_semi")).where(_is(Kind.CALM))
    calms = calm.groupBy("run").agg(F.collect_list(F.struct(*PLACE)).alias("calms"))
    before = F.size(F.filter(F.coalesce("calms", F.array()), lambda each: each < place()))
    return rows.join(F.broadcast(calms), "run", "left").withColumn("epoch", before).drop("calms")


# --- the tree and the wishes, gathered

_TREE = (
    Kind.STARTED,
    Kind.CRASHED,
    Kind.LINK_ADDED,
    Kind.LINK_REMOVED,
    Kind.LINK_LOST,
    Kind.LINK_MOVED,
    Kind.LINK_HANDED,
    Kind.LINK_TAKEN,
    Kind.CHANGE,
    Kind.CALM,
)
_WISHES = (Kind.SUBSCRIBED, Kind.UNSUBSCRIBED)
_SESSIONS = (Kind.ATTACHED, Kind.DETACHED, Kind.MOVING, Kind.MOVED_IN, Kind.MOVED_OUT)


@dataclass(slots=True)
class Chronicle:
    """What everybody has to know of one run."""

    entries: list[Entry] = field(default_factory=list)
    wants: list[tuple[Entry, str, int]] = field(default_factory=list)
    where: dict[int, Whereabouts] = field(default_factory=dict)
    """By epoch: where clients were when it began."""
    anew: dict[int, list[Place]] = field(default_factory=dict)
    """By epoch: the records by which a client begins anew."""


def _chronicles(moments: DataFrame) -> dict[str, Chronicle]:
    kinds = [kind.value for kind in (*_TREE, *_WISHES, *_SESSIONS)]
    chosen = moments.where(F.col("kind").isin(kinds) | _came()).drop("matched", "records", "topic", "source", "seq")
    rows = chosen.limit(CONTROL_RECORDS_MAX + 1).collect()
    if len(rows) > CONTROL_RECORDS_MAX:
        raise BadFlow(f"the traces have more than {CONTROL_RECORDS_MAX:,} records about the tree; judge fewer at once")
    found: dict[str, Chronicle] = {}
    sessions: dict[str, Sessions] = {}
    for row in sorted(rows, key=lambda row: (row["run"], row["latest"], row["order"], row["node"])):
        _enter(found.setdefault(row["run"], Chronicle()), sessions.setdefault(row["run"], Sessions()), row)
    return found


def _came() -> Column:
    """A client has come to a broker, as the simulator tells it."""
    return _is(Kind.TAKEN) & F.col("source").isNull()


def _enter(chronicle: Chronicle, sessions: Sessions, row: Row) -> None:
    entry = _entry(row)
    if row["kind"] in _WISHES:
        chronicle.wants.append((entry, row["client"], row["pattern"]))
    elif row["kind"] in _TREE:
        chronicle.entries.append(entry)
    if sessions.see((entry.node, row["client"] or ""), entry.kind, entry.peer):
        chronicle.anew.setdefault(row["epoch"], []).append(entry.place)
    if row["kind"] == Kind.CALM:
        chronicle.where[row["epoch"] + 1] = deepcopy(sessions.where)


def _entry(row: Row) -> Entry:
    at = (row["latest"], row["order"], row["node"])
    return Entry(at, row["time"], row["node"], row["kind"], row["peer"] or "", row["detail"] or "")


# --- findings

FINDINGS = columns(
    run="string",
    what="string",
    time="double",
    node="string",
    client="string",
    source="string",
    seq="long",
    topic="string",
    hops="int",
    began="double",
    count="long",
    records="long",
)
"""What is wrong, one row each; and what was looked at: ``owed``, ``delivered``, with their numbers by client.
``records``: deliveries that it stands for."""
_FOUND = StructType(FINDINGS.fields[:-1])

DELIVERIES = Part("deliveries to clients", lambda told: _is(Kind.DELIVERED) & _own() & F.lit(not told.peers))


def findings(told: Judged, moments: DataFrame) -> DataFrame:
    if told.peers:  # who owe nobody anything for certain
        return no_rows(moments.sparkSession, FINDINGS)
    chronicles = _chronicles(moments)
    parts = [_accounts(told, moments, chronicles), _causality(told, moments, chronicles)]
    if not told.flooding:
        parts += _in_vain(moments, chronicles)
    parts.append(_too_long(told, moments))
    together = parts[0]
    for part in parts[1:]:
        together = together.unionByName(part)
    records = F.when(F.col("what") == "delivered", F.col("count")).otherwise(0).alias("records")
    return together.select(*_FOUND.fieldNames(), records)


def _is(*kinds: Kind) -> Column:
    return F.col("kind").isin([kind.value for kind in kinds])


# clients

_ROWS = ("run", "client", *PLACE, "time", "kind", "peer", "source", "seq", "topic", "pattern", "matched")
_SETTLED = ("settled_latest", "settled_order")


def _accounts(told: Judged, moments: DataFrame, chronicles: dict[str, Chronicle]) -> DataFrame:
    nothing = [F.lit(None).cast(kind).alias(name) for name, kind in zip(_SETTLED, ("double", "long"), strict=True)]
    own = moments.where(_own() & _is(*_SESSIONS, *_WISHES, Kind.DELIVERED)).select(*_ROWS, *nothing)
    rows = own.unionByName(_publications(moments))
    lasting = told.lasting
    histories: dict[str, History] = {}

    def judge(key: tuple[Any, ...], rows: pd.DataFrame) -> pd.DataFrame:
        run, client = key
        if run not in histories:
            histories[run] = History(chronicles[run].entries if run in chronicles else ())
        account = Account(client, histories[run], lasting)
        return _table(run, account.judge(_seen(rows)))

    return rows.groupBy("run", "client").applyInPandas(judge, _FOUND)


def _own() -> Column:
    """Of groups, what each member is owed is another question."""
    return ~F.coalesce(F.col("client"), F.lit("")).startswith(GROUPS)


def _publications(moments: DataFrame) -> DataFrame:
    """Each publication once for every client that has ever wanted such events, with a row for each pattern."""
    wishes = moments.where(_own() & _is(Kind.SUBSCRIBED)).select("run", "client", "pattern").distinct()
    by_event = ("run", "node", "source", "seq")
    settled = moments.where(_is(Kind.SETTLED)).groupBy(*by_event).agg(F.min(F.struct("latest", "order")).alias("at"))
    settled = settled.select(*by_event, F.col("at.latest").alias(_SETTLED[0]), F.col("at.order").alias(_SETTLED[1]))
    published = moments.where(_is(Kind.PUBLISHED)).drop("client", "pattern")
    matching = published.withColumn("pattern", F.explode("matched")).join(wishes, ["run", "pattern"])
    return matching.join(settled, list(by_event), "left").select(*_ROWS, *_SETTLED)


def _seen(rows: pd.DataFrame) -> list[Seen]:
    """In the order of places; the rows of one publication are one."""
    found: dict[tuple[float, int, str], Seen] = {}
    for row in rows.sort_values(list(PLACE)).itertuples(index=False):
        at = (row.latest, row.order, row.node)
        patterns = frozenset(_patterns(row)) | (found[at].patterns if at in found else frozenset())
        settled = None if row.settled_order != row.settled_order or row.settled_order is None else _settled(row)
        event = (row.source or "", 0 if row.seq != row.seq or row.seq is None else int(row.seq))
        found[at] = Seen(at, row.time, row.node, row.kind, row.peer or "", event, row.topic or "", patterns, settled)
    return list(found.values())


def _settled(row: Any) -> tuple[float, int, str]:
    return (float(row.settled_latest), int(row.settled_order), row.node)


def _patterns(row: Any) -> Iterable[int]:
    if row.kind == Kind.DELIVERED:
        return [] if row.matched is None else [int(each) for each in row.matched]
    return [] if row.pattern is None or row.pattern != row.pattern else [int(row.pattern)]


def _table(run: str, found: Iterable[Finding]) -> pd.DataFrame:
    import pandas as pd

    rows = [(run, *finding) for finding in found]
    return pd.DataFrame(rows, columns=_FOUND.fieldNames()).astype({"began": "float64"})


# causal order


def _stretches(told: Judged, moments: DataFrame) -> tuple[DataFrame, DataFrame]:
    """The records that matter for it; and the stretches that have too many of them."""
    kinds = (*_SESSIONS, Kind.PUBLISHED, Kind.DELIVERED, Kind.CRASHED, Kind.LINK_LOST, Kind.CHANGE)
    rows = moments.where(_is(*kinds) | _came())
    sizes = rows.groupBy("run", "epoch").agg(F.count(F.lit(1)).alias("size"), F.min("time").alias("began"))
    return rows, sizes.where(F.col("size") > told.stretch_max)


def _causality(told: Judged, moments: DataFrame, chronicles: dict[str, Chronicle]) -> DataFrame:
    rows, too_long = _stretches(told, moments)
    rows = rows.join(F.broadcast(too_long), ["run", "epoch"], "left_anti")
    before = {(run, epoch): where for run, each in chronicles.items() for epoch, where in each.where.items()}
    begun = {(run, epoch): frozenset(at) for run, each in chronicles.items() for epoch, at in each.anew.items()}
    names = ["time", "node", "kind", "peer", "client", "detail", "source", "seq", "topic"]

    def judge(key: tuple[Any, ...], rows: pd.DataFrame) -> pd.DataFrame:
        run, epoch = key
        texts = ["peer", "client", "detail", "source", "topic"]
        anew = begun.get((run, epoch), frozenset())
        rows = rows.sort_values(list(PLACE))
        in_order = rows[names].assign(anew=[at in anew for at in zip(*(rows[name] for name in PLACE), strict=True)])
        in_order = in_order.fillna({**dict.fromkeys(texts, ""), "seq": 0}).astype({"seq": "int64"})
        causality = Causality(before.get((run, epoch), Whereabouts()))
        return _table(run, causality.judge(in_order.itertuples(index=False, name=None)))

    return rows.groupBy("run", "epoch").applyInPandas(judge, _FOUND)


def _too_long(told: Judged, moments: DataFrame) -> DataFrame:
    """What was not judged is said, and never passes for sound."""
    _, too_long = _stretches(told, moments)
    return too_long.select(
        "run",
        F.lit("not judged").alias("what"),
        F.col("began").alias("time"),
        *(F.lit("").alias(name) for name in ("node", "client", "source")),
        F.lit(0).cast("long").alias("seq"),
        F.lit("causal order: too many records between two calm moments").alias("topic"),
        F.lit(0).alias("hops"),
        "began",
        F.col("size").alias("count"),
    )


# in vain


def _in_vain(moments: DataFrame, chronicles: dict[str, Chronicle]) -> list[DataFrame]:
    crossings = _crossings(moments)
    link = Window.partitionBy(
        "run", "epoch", "source", "seq", F.least("node", "peer"), F.greatest("node", "peer")
    ).orderBy(*PLACE)
    again = crossings.withColumn("nth", F.row_number().over(link)).where(F.col("nth") > 1)
    return [_finding(_needless(crossings, chronicles), "in vain"), _finding(again, "crossed again")]


def _crossings(moments: DataFrame) -> DataFrame:
    """What was forwarded, of what was published, while nothing had changed since all was calm."""
    disturbed = moments.where(_is(*DISTURBING)).groupBy("run", "epoch").agg(F.min(place()).alias("until"))
    still = moments.where(F.col("epoch") > 0).join(F.broadcast(disturbed), ["run", "epoch"], "left")
    still = still.where(F.col("until").isNull() | (place() < F.col("until")))
    by_event = ["run", "epoch", "source", "seq"]
    published = still.where(_is(Kind.PUBLISHED)).groupBy(*by_event).agg(F.min(place()).alias("at"))
    forwarded = still.where(_is(Kind.FORWARDED)).join(published, by_event)
    return forwarded.where(F.col("at") < place())


def _needless(crossings: DataFrame, chronicles: dict[str, Chronicle]) -> DataFrame:
    made: dict[str, list[Still]] = {}

    def judge(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            yield batch[[_vain(row) for row in batch.itertuples(index=False)]]

    def _vain(row: Any) -> bool:
        if row.run not in made:
            made[row.run] = stills(chronicles[row.run].entries, chronicles[row.run].wants)
        matching = () if row.matched is None else (int(each) for each in row.matched)
        vain: bool = made[row.run][row.epoch - 1].in_vain(row.node, row.peer, matching)
        return vain

    narrow = crossings.select("run", "epoch", "time", "node", "peer", "source", "seq", "topic", "matched")
    return narrow.mapInPandas(judge, narrow.schema)


def _finding(crossings: DataFrame, what: str) -> DataFrame:
    """The neighbour stands where the client stands in other findings."""
    return crossings.select(
        "run",
        F.lit(what).alias("what"),
        "time",
        "node",
        F.col("peer").alias("client"),
        "source",
        "seq",
        "topic",
        F.lit(1).alias("hops"),
        F.lit(None).cast("double").alias("began"),
        F.lit(1).cast("long").alias("count"),
    )


# peers


def parasites(told: Judged, trace: DataFrame) -> DataFrame:
    """What peers did with events that they do not want; nothing is said of brokers."""
    return strangers(told.parents, told.late_s, trace) if told.peers else no_rows(trace.sparkSession, PARASITES)


# --- what is counted

_COUNTS = {"owed": "owed", "delivered": "delivered", **{each: each.replace(" ", "_") for each in WRONG}}
VERDICTS = columns(
    run="string", published="long", **dict.fromkeys(_COUNTS.values(), "long"), not_judged="long", parasites="long"
)


def _counted() -> list[Column]:
    return [F.sum(F.when(F.col("what") == what, F.col("count")).otherwise(0)).alias(n) for what, n in _COUNTS.items()]


def verdicts(told: Judged, moments: DataFrame, findings: DataFrame, parasites: DataFrame) -> DataFrame:
    """One row for each run. What a trace does not have cannot be judged either."""
    unjudged = F.sum(F.when(F.col("what") == "not judged", F.col("count")).otherwise(0)).alias("too_long")
    counted = findings.groupBy("run").agg(*_counted(), unjudged)
    counts = {"published": Kind.PUBLISHED, "gaps": Kind.UNTRACED}
    published = moments.groupBy("run").agg(*(F.count_if(_is(kind)).alias(name) for name, kind in counts.items()))
    strange = parasites.groupBy("run").agg(F.count(F.lit(1)).alias("parasites"))
    joined = published.join(counted, "run", "left").join(strange, "run", "left").fillna(0).orderBy("run")
    return joined.withColumn("not_judged", F.col("too_long") + F.col("gaps")).select(*VERDICTS.fieldNames())


SUBSCRIBERS = columns(run="string", client="string", **dict.fromkeys(list(_COUNTS.values())[:7], "long"))


def subscribers(told: Judged, findings: DataFrame) -> DataFrame:
    """One row for each client that wanted or got anything."""
    own = findings.where(~F.col("what").isin("in vain", "crossed again", "not judged"))
    return own.groupBy("run", "client").agg(*_counted()).orderBy("run", "client").select(*SUBSCRIBERS.fieldNames())


CHANGES = columns(
    run="string",
    change="int",
    kind="string",
    brokers="strings",
    begun="double",
    ended="double",
    steps="long",
    **dict.fromkeys([_COUNTS[what] for what in WRONG], "long"),
)


def changes(told: Judged, moments: DataFrame, findings: DataFrame) -> DataFrame:
    """One row for each change of the tree, with what went wrong with events that were under way meanwhile."""
    spark = moments.sparkSession
    steps = moments.where(_is(Kind.CHANGE)).select("run", *PLACE, "time", "peer", "detail")
    found = spark.createDataFrame(change_rows(steps.collect()), CHANGE_ROWS)
    since = F.coalesce(F.col("began"), F.col("time"))
    until = F.when(F.col("what") == "lost", since).otherwise(F.col("time"))
    wrong = findings.where(F.col("what").isin(list(WRONG))).withColumns({"since": since, "until": until})
    meanwhile = (found["run"] == wrong["run"]) & (wrong["since"] <= found["ended"]) & (wrong["until"] >= found["begun"])
    joined = found.join(wrong, meanwhile, "left").select(*(found[name] for name in found.columns), "what", "count")
    counted = joined.groupBy(*found.columns).agg(*_counted())
    return counted.orderBy("run", "change").select(*CHANGES.fieldNames())
