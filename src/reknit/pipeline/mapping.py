"""From who wants what to places on a ring of brokers: what notifying costs, and DYNATOPS' mapping.

Brokers and topics are few beside users, so what the search needs is gathered in one place, and bounded.

Owns: the transforms behind ``ring``. Must not know: how costs are counted, or how a mapping is found
(``reknit.planning``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

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
from reknit.planning.search import Bounds, better_search

__all__ = ["COSTS", "NEEDS", "PLACES", "RATES", "WANTS", "Mapped", "costs", "needs", "places", "unwanted"]

BROKERS_MAX = 5_000
TOPICS_MAX = 100_000

SEARCHES = ("better", "greedy")


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
"""By broker: its id on the ring, by its name at first, and in the mapping."""


def places(told: Mapped, needs: DataFrame) -> DataFrame:
    names, account = _account(told, needs)
    found, ids = _found(told, account), account.problem.ring.ids
    home = _home(names, account.problem.ring)
    rows = [
        (name, _signed(ids[home[number]]), _signed(ids[place]), bool(home[number] != place))
        for number, (name, place) in enumerate(zip(names, found.places.tolist(), strict=True))
    ]
    return needs.sparkSession.createDataFrame(rows, PLACES).select(*PLACES.fieldNames())


COSTS = columns(quantity="string", value="double")


def costs(told: Mapped, needs: DataFrame, places: DataFrame) -> DataFrame:
    names, account = _account(told, needs)
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


def _account(told: Mapped, needs: DataFrame) -> tuple[list[str], Account]:
    """The brokers in the order of their names, where their names put them."""
    rows = _gathered(needs)
    names = sorted({name for row in rows for name in row["brokers"]})
    if len(names) > BROKERS_MAX:
        raise BadFlow(f"{len(names):,} brokers: at most {BROKERS_MAX:,} fit on the ring")
    numbers = {name: number for number, name in enumerate(names)}
    wants = np.zeros((len(rows), len(names)), dtype=np.bool_)
    for topic, row in enumerate(rows):
        wants[topic, [numbers[name] for name in row["brokers"]]] = True
    ring = Ring([ring_id(name) for name in names])
    keys = tuple(ring_id(row["topic"]) for row in rows)
    events = np.array([row["events"] for row in rows], dtype=np.float64)
    problem = Problem(ring, keys, wants, events, told.delay_weight)
    return names, make_account(problem, _home(names, ring))


def _gathered(needs: DataFrame) -> list[Any]:
    rows = needs.limit(TOPICS_MAX + 1).collect()
    if len(rows) > TOPICS_MAX:
        raise BadFlow(f"more than {TOPICS_MAX:,} topics: map the dearest of them")
    if not rows:
        raise BadFlow("nobody wants anything: there is nothing to map")
    return sorted(rows, key=lambda row: row["topic"])


def _home(names: list[str], ring: Ring) -> Any:
    return np.array([ring.owner(ring_id(name)) for name in names], dtype=np.int32)


def _found(told: Mapped, account: Account) -> Found:
    if told.search == "greedy":
        return dynatops_greedy(account)
    return better_search(account, np.random.default_rng(told.seed), Bounds(trials_max=told.trials))


def _signed(id_: int) -> int:
    """Spark's longs have a sign."""
    return id_ - (1 << 64) if id_ >> 63 else id_
