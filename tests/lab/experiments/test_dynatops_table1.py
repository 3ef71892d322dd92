"""dynatops-table1: not as claimed where one plan takes longer than the paper's."""

from __future__ import annotations

from tests.lab.experiments.quick import experiment, quick_rows


def test_the_table() -> None:
    found, rows = experiment("dynatops-table1"), quick_rows("dynatops-table1")
    assert all(float(row["seconds"]) > 0 for row in rows)
    assert len(found.plot(rows).axes[0].patches) == 2 * 3
    quick = [{**row, "seconds": 0.001} for row in rows]
    assert found.reduce(quick).verdict == "as claimed"
    assert found.reduce([*quick[:-1], {**quick[-1], "seconds": 1.0}]).verdict == "not as claimed"
