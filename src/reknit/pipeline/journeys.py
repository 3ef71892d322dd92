"""How long events took, and over how many links: each event's records, followed in the order of the history.

Owns: the walk through the records of one event. Must not know: windows, batches, or which events are complete.

The number of links to a broker is one more than to the broker it had the event from, so an event's records have to be
seen one after the other. Spark brings them together and in order; the walk itself is a loop of a worker, which takes
a tenth of what expressions over arrays and maps would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from reknit.pipeline.flow import columns
from reknit.pipeline.trace import PLACE
from reknit.trace.records import Kind

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DELIVERIES", "EVENT", "JOURNEYS", "RECORDS", "Journey", "deliveries"]

EVENT = ("run", "source", "seq")
"""The columns that tell events apart."""
JOURNEYS = (Kind.PUBLISHED, Kind.FORWARDED, Kind.DELIVERED)
"""What a journey consists of."""

_SEEN = {"run": "string", "source": "string", "seq": "long", "kind": "string", "node": "string", "peer": "string"}
RECORDS = columns(**_SEEN, time="double", latest="double", order="long")
"""What is needed of a record, with its place."""
DELIVERIES = columns(run="string", hops="int", delay="double")
"""``hops`` is null where the trace does not tell the way, ``delay`` where it does not tell where the event began."""

_WALKED = (*_SEEN, "time")


def deliveries(records: DataFrame) -> DataFrame:
    """Of each delivery how long it took and over how many links; there have to be all records of an event."""
    together = records.select(*RECORDS.fieldNames()).repartition(*EVENT).sortWithinPartitions(*EVENT, *PLACE)
    return together.select(*_WALKED).mapInArrow(_walk, DELIVERIES)


@dataclass(slots=True)
class Journey:
    """One event's: where it began, its way, and who took it."""

    begun: tuple[float, str] | None = None
    way: list[tuple[str, str]] = field(default_factory=list)
    taken: list[tuple[str, float]] = field(default_factory=list)

    def see(self, kind: str, node: str, peer: str, time: float) -> None:
        if kind == Kind.FORWARDED:
            self.way.append((node, peer))
        elif kind == Kind.DELIVERED:
            self.taken.append((node, time))
        elif self.begun is None or (time, node) < self.begun:
            self.begun = (time, node)

    def measure(self) -> Iterator[tuple[int | None, float | None]]:
        """One for each delivery; without a number if the trace does not tell where it began."""
        if self.begun is None:
            yield from [(None, None)] * len(self.taken)
            return
        time, node = self.begun
        hops = {node: 0}
        for sender, receiver in self.way:
            if sender in hops and receiver not in hops:
                hops[receiver] = hops[sender] + 1
        for where, when in self.taken:
            yield hops.get(where), when - time


def _walk(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """At a worker; an event's records may lie in several batches."""
    event: tuple[str, str, int] | None = None
    journey = Journey()
    for batch in batches:
        found: list[tuple[str, int | None, float | None]] = []
        for run, source, seq, *seen in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if event != (run, source, seq):
                if event is not None:
                    found += [(event[0], *each) for each in journey.measure()]
                event, journey = (run, source, seq), Journey()
            journey.see(*seen)
        yield _arrow(found)
    if event is not None:
        yield _arrow([(event[0], *each) for each in journey.measure()])


def _arrow(found: list[tuple[str, int | None, float | None]]) -> pa.RecordBatch:
    import pyarrow as pa

    run, hops, delay = zip(*found, strict=True) if found else ((), (), ())
    arrays = [pa.array(run, pa.string()), pa.array(hops, pa.int32()), pa.array(delay, pa.float64())]
    return pa.RecordBatch.from_arrays(arrays, names=DELIVERIES.fieldNames())
