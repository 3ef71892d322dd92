"""What the bench of the pipeline compares with: a trace that is one, and the same numbers in pandas."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bench.pipeline import CHANGE_AT, NODES, RATE, make_trace, visits_in_pandas
from reknit.trace.store import read_trace
from tests.pipeline.tables import write_checkins


def test_the_made_up_trace_is_one(tmp_path: Path) -> None:
    """With subscriptions, routes and changes among its events, as a real one has."""
    seconds = CHANGE_AT + 1
    count = make_trace(tmp_path / "run", seconds)
    assert seconds * (RATE - 6 * NODES) < count <= seconds * RATE
    records = list(read_trace(tmp_path / "run"))
    kinds = Counter(record.kind.value for record in records)
    assert len(records) == count
    assert 6 * kinds["published"] == 3 * kinds["forwarded"] == 2 * kinds["delivered"]
    assert kinds["subscribed"] == kinds["unsubscribed"] == kinds["route_added"] == kinds["route_removed"] > 0
    assert kinds["change"] == 4
    events = Counter(record.event.id for record in records if record.event is not None and record.kind == "published")
    assert set(events.values()) == {1}


def test_pandas_finds_the_visits_of_two_people(tmp_path: Path) -> None:
    found = visits_in_pandas(str(write_checkins(tmp_path / "in.parquet")), str(tmp_path / "out"))
    assert (found["visits"], found["unique_pairs"], found["pairs_once"], found["cells_used"]) == (3, 3, 3, 2)
    assert found["linger_median_s_closed"] == 30 * 3600
