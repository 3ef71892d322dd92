"""Which patterns match which events, for all events of a trace at once.

Owns: numbering patterns, and matching in Spark's workers by the plain evaluation of ``model``. Must not know: who
subscribes.

What an event matches depends on its content alone, so each content is matched once, however often it was published,
forwarded and delivered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reknit.model.pattern import Pattern
from reknit.model.topic import TopicIndex
from reknit.pipeline.flow import BadFlow, columns
from reknit.trace.columns import event_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CONTENT", "matched", "patterns_of"]

PATTERNS_MAX = 1_000_000
"""Different patterns of all runs together; they are sent to every worker."""

CONTENT = ("topic", "attributes", "properties", "derived")
_MATCHED = columns(topic="string", attributes="string", properties="string", derived="string", matched="ints")


def patterns_of(trace: DataFrame) -> list[Pattern]:
    """All that anybody has subscribed to, each once, in an order that does not depend on where they were found."""
    named = trace.where(F.col("pattern_topic").isNotNull() & F.col("client").isNotNull())
    rows = named.select("pattern_topic", "selector").distinct().limit(PATTERNS_MAX + 1).collect()
    if len(rows) > PATTERNS_MAX:
        raise BadFlow(f"the traces have more than {PATTERNS_MAX:,} patterns; judge fewer at once")
    return sorted(Pattern(row["pattern_topic"], row["selector"] or "") for row in rows)


def matched(events: DataFrame, patterns: Sequence[Pattern]) -> DataFrame:
    """The contents of the events, each once, with the numbers of the patterns that match it."""
    contents = events.select(*CONTENT).distinct()
    known = list(patterns)

    def match(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        matcher = Matcher(known)
        for batch in batches:
            batch["matched"] = [matcher.match(*row) for row in batch.itertuples(index=False)]
            yield batch

    return contents.mapInPandas(match, _MATCHED)


class Matcher:
    """Patterns by number, found by topic first."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._patterns = patterns
        self._index: TopicIndex[int] = TopicIndex()
        for number, pattern in enumerate(patterns):
            self._index.add(pattern.topic, number)

    def match(self, topic: str, attributes: str | None, properties: str | None, derived: str | None) -> list[int]:
        event = event_of(topic, attributes, properties, derived)
        return sorted(number for number in self._index.match(topic) if self._patterns[number].matches(event))
