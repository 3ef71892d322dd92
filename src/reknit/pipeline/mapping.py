"""From who wants what to places on a ring of brokers: what notifying costs, and DYNATOPS' mapping.

Brokers and topics are few beside users, so what the search needs is gathered in one place, and bounded.

Owns: the transforms behind ``ring``. Must not know: how costs are counted, or how a mapping is found
(``reknit.planning``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reknit.model.ring import ring_id
from reknit.pipeline.flow import LEFT_OUT, BadFlow, Input, Parameters, Rule, columns, told
from reknit.pipeline.read import no_rows
from reknit.planning.change import change_cost, is_reconfigurable, moved
from reknit.planning.counts import Account, make_account
from reknit.planning.greedy import Found, dynatops_greedy
from reknit.planning.notification import Problem
from reknit.planning.ring import Ring
from reknit.planning.ring_plan import SEARCHES, Need, RingEvidence, RingPlan, RingRules, make_ring_plan
from reknit.planning.search import Bounds, better_search

__all__ = ["COSTS", "NEEDS", "NETWORK", "PLACES", "RATES", "WANTS", "Mapped", "costs", "needs", "places"]
__all__ += ["gather_ids", "gather_needs", "ring_plan_of", "unwanted"]

BROKERS_MAX = 5_000
TOPICS_MAX = 100_000


class Mapped(Parameters, frozen=True):
    search: Annotated[str, told("greedy: DYNATOPS' own; better: goes on where that stops")] = "better"
    trials: Annotated[int, msgspec.Meta(ge=0), told("of the better search, at most")] = Bounds().trials_max
    delay_weight: Annotated[float, msgspec.Meta(ge=0), told("what a hop of delay costs, in messages: w_d")] = 1.0
    seed: Annotated[int, told("of the better search")] = 0


def _rules(*needed: str) -> tuple[Rule, ...]:
    return tuple(Rule(f"no {name}", F.col(name).isNull()) for name in needed)


WANTS = Input(
    name="wants",
    about="which broker has users that want which topic",
    schema=columns(broker="string", topic="string"),
    rules=lambda told: _rules("broker", "topic"),
)
RATES = Input(
    name="rates",
    about="how many events are expected of each topic; one of each where it is left out",
    schema=columns(topic="string", events="double"),
    rules=lambda told: (
        *_rules("topic", "events"),
        Rule("no number of events", F.isnan("events") | (F.col("events") < 0)),
    ),
    optional=True,
)

NETWORK = Input(
    name="network",
    about="all brokers, and their ids on the ring; those that want something, by their names, where it is left out",
    schema=columns(broker="string", id="string"),
    rules=lambda told: (
        *_rules("broker", "id"),
        Rule("no id on a ring", ~F.col("id").rlike("^[0-9]{1,20}$")),
    ),
    optional=True,
)

NEEDS = columns(topic="string", events="double", brokers="strings", rows="long")
"""By topic: what is expected of it, and who wants it."""


def needs(told: Mapped, wants: DataFrame, rates: DataFrame | None) -> DataFrame:
    if told.search not in SEARCHES:
        raise BadFlow(f"search {told.search!r}: it is one of {', '.join(SEARCHES)}")
    gathered = wants.groupBy("topic").agg(
        F.array_sort(F.collect_set("broker")).alias("brokers"), F.count(F.lit(1)).alias("rows")
    )
    if rates is None:
        return gathered.withColumn("events", F.lit(1.0)).select(*NEEDS.fieldNames())
    summed = rates.groupBy("topic").agg(F.sum("events").alias("events"))
    joined = gathered.join(summed, "topic", "left").fillna({"events": 0.0})
    return joined.select(*NEEDS.fieldNames())


def unwanted(told: Mapped, wants: DataFrame, rates: DataFrame | None) -> DataFrame:
    """What is expected of topics that nobody wants costs nothing, and is in no need."""
    if rates is None:
        return no_rows(wants.sparkSession, LEFT_OUT)
    others = rates.join(wants.select("topic").distinct(), "topic", "left_anti")
    return others.agg(F.count(F.lit(1)).alias("rows")).select(
        F.lit("rates").alias("table"), F.lit("rates of topics that nobody wants").alias("reason"), "rows"
    )


PLACES = columns(broker="string", before="long", after="long", moves="bool")
"""By broker: its id on the ring, at first and in the mapping."""


def places(told: Mapped, needs: DataFrame, network: DataFrame | None) -> DataFrame:
    names, account = _account(told, needs, network)
    home, ids = account.places.copy(), account.problem.ring.ids
    found = _found(told, account)
    rows = [
        (name, _signed(ids[home[number]]), _signed(ids[place]), bool(home[number] != place))
        for number, (name, place) in enumerate(zip(names, found.places.tolist(), strict=True))
    ]
    return needs.sparkSession.createDataFrame(rows, PLACES).select(*PLACES.fieldNames())


COSTS = columns(quantity="string", value="double")


def costs(told: Mapped, needs: DataFrame, places: DataFrame, network: DataFrame | None) -> DataFrame:
    names, account = _account(told, needs, network)
    before, home = account.cost, account.places.copy()
    ids = {_signed(id_): place for place, id_ in enumerate(account.problem.ring.ids)}
    at = {row["broker"]: ids[row["after"]] for row in places.collect()}
    after = np.array([at[name] for name in names], dtype=np.int32)
    brokers, topics, changed = len(names), len(account.problem.keys), moved(home, after)
    said: Mapping[str, float] = {
        "cost before": before,
        "cost after": make_account(account.problem, after).cost,
        "messages of the change": change_cost(brokers, topics, changed),
        "brokers that move": changed,
        "worth looking": is_reconfigurable(before, brokers, topics),
    }
    rows = [(quantity, float(value)) for quantity, value in said.items()]
    return needs.sparkSession.createDataFrame(rows, COSTS).select(*COSTS.fieldNames())


def _account(told: Mapped, needs: DataFrame, network: DataFrame | None) -> tuple[list[str], Account]:
    """The brokers in the order of their names, where they are now."""
    rows = gather_needs(needs)
    ids = gather_ids(rows, network)
    names = sorted(ids)
    numbers = {name: number for number, name in enumerate(names)}
    wants = np.zeros((len(rows), len(names)), dtype=np.bool_)
    for topic, row in enumerate(rows):
        wants[topic, [numbers[name] for name in row.brokers]] = True
    ring = Ring(list(ids.values()))
    keys = tuple(ring_id(row.topic) for row in rows)
    events = np.array([row.events for row in rows], dtype=np.float64)
    problem = Problem(ring, keys, wants, events, told.delay_weight)
    return names, make_account(problem, np.array([ring.owner(ids[name]) for name in names], dtype=np.int32))


def gather_needs(needs: DataFrame) -> list[Need]:
    rows = needs.limit(TOPICS_MAX + 1).collect()
    if len(rows) > TOPICS_MAX:
        raise BadFlow(f"more than {TOPICS_MAX:,} topics: map the dearest of them")
    if not rows:
        raise BadFlow("nobody wants anything: there is nothing to map")
    return sorted(
        (Need(row["topic"], row["events"], tuple(row["brokers"])) for row in rows), key=lambda need: need.topic
    )


def gather_ids(needs: Sequence[Need], network: DataFrame | None) -> dict[str, int]:
    """By broker, its id: as the network has it, or by the names of those that want something."""
    wanting = sorted({name for need in needs for name in need.brokers})
    if network is None:
        ids = {name: ring_id(name) for name in wanting}
    else:
        ids = {row["broker"]: int(row["id"]) for row in network.limit(BROKERS_MAX + 1).collect()}
        if not ids:
            raise BadFlow("no broker has an id on a ring: brokers route by rendezvous there")
        if strangers := [name for name in wanting if name not in ids]:
            raise BadFlow(f"{strangers[0]} has clients that want something, and is not on the ring")
    if len(ids) > BROKERS_MAX:
        raise BadFlow(f"{len(ids):,} brokers: at most {BROKERS_MAX:,} fit on the ring")
    return ids


def ring_plan_of(needs: DataFrame, network: DataFrame, rates: DataFrame, rules: RingRules) -> RingPlan:
    """The plan that the tables support."""
    if rules.search not in SEARCHES:
        raise BadFlow(f"search {rules.search!r}: it is one of {', '.join(SEARCHES)}")
    gathered = gather_needs(needs)
    (seen,) = rates.agg(
        F.sum("events").alias("events"), F.min("first").alias("first"), F.max("last").alias("last")
    ).collect()
    if not seen["events"]:
        raise BadFlow("the trace has no event from which a plan could be made")
    wants = sum(len(need.brokers) for need in gathered)
    evidence = RingEvidence(seen["events"], len(gathered), wants, seen["last"] - seen["first"], seen["first"])
    return make_ring_plan(gather_ids(gathered, network), gathered, rules, evidence)


def _found(told: Mapped, account: Account) -> Found:
    if told.search == "greedy":
        return dynatops_greedy(account)
    return better_search(account, np.random.default_rng(told.seed), Bounds(trials_max=told.trials))


def _signed(id_: int) -> int:
    """Spark's longs have a sign."""
    return id_ - (1 << 64) if id_ >> 63 else id_
