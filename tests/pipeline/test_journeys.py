"""The way of an event, followed by hand; and records of one event that a worker gets in two pieces."""

from __future__ import annotations

import pyarrow as pa

from reknit.pipeline.journeys import DELIVERIES, Journey, _walk
from reknit.trace.records import Kind

SEEN = ("run", "source", "seq", "kind", "node", "peer", "time")


def journey(*seen: tuple[Kind, str, str, float]) -> list[tuple[int | None, float | None]]:
    made = Journey()
    for each in seen:
        made.see(*each)
    return list(made.measure())


def test_links_are_counted_along_the_way() -> None:
    way = [(Kind.FORWARDED, "a", "b", 1.0), (Kind.FORWARDED, "b", "c", 2.0), (Kind.FORWARDED, "b", "d", 2.0)]
    taken = [(Kind.DELIVERED, node, "", 5.0 + at) for at, node in enumerate("adc")]
    begun = (Kind.PUBLISHED, "a", "", 1.0)
    assert journey(begun, *way, *taken) == [(0, 4.0), (2, 5.0), (2, 6.0)]
    # A second way to the same broker is not the one that it had the event by.
    assert journey(begun, *way, (Kind.FORWARDED, "a", "d", 3.0), *taken)[1] == (2, 5.0)


def test_what_the_trace_does_not_tell_is_not_made_up() -> None:
    assert journey((Kind.FORWARDED, "a", "b", 1.0), (Kind.DELIVERED, "b", "", 2.0)) == [(None, None)]
    assert journey((Kind.PUBLISHED, "a", "", 1.0), (Kind.DELIVERED, "x", "", 2.0)) == [(None, 1.0)]
    twice = [(Kind.PUBLISHED, "b", "", 3.0), (Kind.PUBLISHED, "a", "", 1.0), (Kind.DELIVERED, "a", "", 4.0)]
    assert journey(*twice) == [(0, 3.0)]


def test_an_event_may_lie_in_several_batches() -> None:
    rows = [
        ("r", "a.1", 1, Kind.PUBLISHED, "a", None, 1.0),
        ("r", "a.1", 1, Kind.FORWARDED, "a", "b", 1.5),
        ("r", "a.1", 1, Kind.DELIVERED, "b", None, 2.0),
        ("r", "a.1", 2, Kind.PUBLISHED, "a", None, 2.0),
        ("r", "a.1", 2, Kind.DELIVERED, "a", None, 2.25),
        ("s", "a.1", 2, Kind.DELIVERED, "a", None, 2.5),
        ("s", "b.1", 2, Kind.PUBLISHED, "b", None, 2.0),
        ("s", "b.1", 2, Kind.DELIVERED, "b", None, 4.0),
    ]
    for size in (1, 2, 3, 8):
        parts = [rows[at : at + size] for at in range(0, len(rows), size)]
        batches = [pa.RecordBatch.from_pylist([dict(zip(SEEN, row, strict=True)) for row in part]) for part in parts]
        found = [tuple(row.values()) for batch in _walk(batches) for row in batch.to_pylist()]
        assert found == [("r", 1, 1.0), ("r", 0, 0.25), ("s", None, None), ("s", 0, 2.0)]
    assert [list(batch.schema.names) for batch in _walk(batches)] == [DELIVERIES.fieldNames()] * 2
