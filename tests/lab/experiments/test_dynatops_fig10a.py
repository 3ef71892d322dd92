"""dynatops-fig10a: not as claimed where some plan saves nothing, or as much where all is alike."""

from __future__ import annotations

from reknit.lab.experiment import Row
from tests.lab.experiments.quick import experiment, quick_rows


def test_the_plans() -> None:
    found, rows = experiment("dynatops-fig10a"), quick_rows("dynatops-fig10a")
    better = [row for row in rows if row["search"] == "better"]
    greedy = [row for row in rows if row["search"] == "greedy"]
    assert sum(float(row["cost_saved"]) for row in better) > sum(float(row["cost_saved"]) for row in greedy)
    assert found.published.keys() <= found.reduce(rows).measured.keys()
    assert len(found.plot(rows).axes) == 2


def test_the_claims() -> None:
    found, rows = experiment("dynatops-fig10a"), quick_rows("dynatops-fig10a")
    skewed = [{**row, "cost_saved": 20.0 if row["pattern"] == "multimodal" else 10.0} for row in rows]
    assert found.reduce(skewed).verdict == "as claimed"
    assert found.reduce([*skewed, {**greedy_of(rows), "cost_saved": 0.0}]).verdict == "not as claimed"
    assert found.reduce([{**row, "cost_saved": 10.0} for row in rows]).verdict == "not as claimed"


def greedy_of(rows: list[Row]) -> Row:
    return next(row for row in rows if row["search"] == "greedy")
