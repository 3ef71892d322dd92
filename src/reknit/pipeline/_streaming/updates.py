"""What batches write for good: the columns of each kind, and how several batches become one.

Owns: that. Must not know: where it lies, or what tables are made of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from reknit.pipeline.flow import columns
from reknit.pipeline.journeys import DELIVERIES
from reknit.pipeline.traffic import LOADS, TOPIC_SUMS

__all__ = ["MOMENTS", "UPDATES", "WISH", "Update", "latest_wishes"]

Fold = Callable[[DataFrame], DataFrame]

WISH = ("run", "node", "client", "pattern_topic", "selector")
_TOPICS = columns(
    run="string", window="long", topic="string", payload_bytes="long", **dict.fromkeys(TOPIC_SUMS, "long")
)
_CHANGED = columns(run="string", window="long", node="string", routes="long")
_SAID = columns(**dict.fromkeys(WISH, "string"), order="long", kind="string")
_BEGUN = columns(run="string", node="string", begun="long")
_STEPS = columns(
    run="string", latest="double", order="long", node="string", time="double", peer="string", detail="string"
)
MOMENTS = columns(run="string", window="long", node="string", time="double", routes="long", crossed="long")
_ASIDE = columns(reason="string", rows="long")
_GAPS = columns(node="string", records="long")
_BROKEN = columns(path="string", problem="string")


@dataclass(frozen=True, slots=True)
class Update:
    schema: StructType
    fold: Fold


def _same(rows: DataFrame) -> DataFrame:
    return rows


def latest_wishes(rows: DataFrame) -> DataFrame:
    """What was said last. Of one broker: its records are numbered in the order in which they were written."""
    said = rows.groupBy(*WISH)
    return said.agg(F.max_by("kind", "order").alias("kind"), F.max("order").alias("order"))


def _latest_lives(rows: DataFrame) -> DataFrame:
    return rows.groupBy("run", "node").agg(F.max("begun").alias("begun"))


UPDATES: dict[str, Update] = {
    "topics": Update(
        _TOPICS, lambda rows: rows.groupBy("run", "window", "topic").agg(*_summed("payload_bytes", *TOPIC_SUMS))
    ),
    "loads": Update(LOADS, lambda rows: rows.groupBy("run", "window", "node", "peer").agg(*_summed("events", "bytes"))),
    "routes": Update(_CHANGED, lambda rows: rows.groupBy("run", "window", "node").agg(*_summed("routes"))),
    "aside": Update(_ASIDE, lambda rows: rows.groupBy("reason").agg(*_summed("rows"))),
    "gaps": Update(_GAPS, lambda rows: rows.groupBy("node").agg(*_summed("records"))),
    "said": Update(_SAID, latest_wishes),
    "begun": Update(_BEGUN, _latest_lives),
    "steps": Update(_STEPS, _same),
    "delays": Update(DELIVERIES, _same),
    "moments": Update(MOMENTS, _same),
    "broken": Update(_BROKEN, _same),
}


def _summed(*names: str) -> list[Column]:
    return [F.sum(name).alias(name) for name in names]
