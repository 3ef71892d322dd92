"""Traces of peers in communities: who handled an event that it does not want.

Owns: the transform behind ``parasites`` of the verdict. Must not know: the simulator, or what a peer is.

A peer is judged by its own records alone, in their order: those of one peer go to one worker. Brokers that are in the
same trace, where there are gateways, are known by their clients and links, and not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reknit.pipeline._judging.membership import ENDS, OF_BROKERS, Ladder, Member
from reknit.pipeline.flow import BadFlow, columns
from reknit.pipeline.trace import PLACE, placed
from reknit.trace.records import Kind

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LATE_S", "PARASITES", "parasites", "read_parents"]

LATE_S = 121.0
"""The lease that peers begin with, and a second."""

PARASITES = columns(
    run="string", time="double", node="string", kind="string", source="string", seq="long", topic="string"
)

_MEMBERSHIP = (Kind.SUBSCRIBED, Kind.UNSUBSCRIBED, *ENDS)


def read_parents(text: str) -> dict[str, tuple[str, ...]]:
    """From JSON; ``BadFlow`` if it is none."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, tuple[str, ...]])
    except msgspec.DecodeError as error:
        raise BadFlow(f'parents is {text!r}: write it as {{"a/b": ["a", "c"]}} ({error})') from error


def parasites(parents: str, late_s: float, trace: DataFrame) -> DataFrame:
    """Of each peer what it did with events of communities that it was no member of."""
    ladder = Ladder(read_parents(parents))
    membership = F.col("kind").isin([kind.value for kind in _MEMBERSHIP])
    chosen = placed(trace.where(membership | F.col("source").isNotNull()))
    rows = chosen.select(*PARASITES.fieldNames(), "latest", "order", "pattern_topic").join(
        _brokers(trace), ["run", "node"], "left_anti"
    )

    def judge(rows: pd.DataFrame) -> pd.DataFrame:
        member = Member()
        strange = [_judge(member, ladder, row, late_s) for row in rows.sort_values(list(PLACE)).itertuples(index=False)]
        return rows.sort_values(list(PLACE))[strange][PARASITES.fieldNames()]

    return rows.groupBy("run", "node").applyInPandas(judge, PARASITES).select(*PARASITES.fieldNames())


def _brokers(trace: DataFrame) -> DataFrame:
    seen = F.col("client").isNotNull() | F.col("kind").isin([kind.value for kind in OF_BROKERS])
    return trace.where(seen).select("run", "node").distinct()


def _judge(member: Member, ladder: Ladder, row: Any, late_s: float) -> bool:
    if row.source is None:
        member.see(row.kind, row.pattern_topic or "", row.time)
        return False
    return member.is_stranger(row.kind, ladder.filters(row.topic), row.time, late_s)
