"""What the bench of the pipeline compares with: a trace that is one, and the same numbers in pandas."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bench.pipeline import NODES, RATE, make_trace, visits_in_pandas
from reknit.trace.store import read_trace
from tests.pipeline.tables import write_checkins


def test_the_made_up_trace_is_one(tmp_path: Path) -> None:
    count = make_trace(tmp_path / "run", 1)
    assert RATE - 6 * NODES < count <= RATE
    kinds = Counter(record.kind.value for record in read_trace(tmp_path / "run"))
    assert (kinds["published"], kinds["forwarded"], kinds["delivered"]) == (count // 6, count // 3, count // 2)


def test_pandas_finds_the_visits_of_two_people(tmp_path: Path) -> None:
    found = visits_in_pandas(str(write_checkins(tmp_path / "in.parquet")), str(tmp_path / "out"))
    assert (found["visits"], found["unique_pairs"], found["pairs_once"], found["cells_used"]) == (3, 3, 3, 2)
    assert found["linger_median_s_closed"] == 30 * 3600
