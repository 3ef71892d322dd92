"""Rows about DYNATOPS as an experiment could have measured them, made by hand so that claims can be true or not."""

from __future__ import annotations

from collections.abc import Callable

from reknit.lab.experiment import Point, Row, Scale
from tests.lab.experiments.quick import experiment, quick_rows

__all__ = ["check_claims", "check_measured", "check_plans", "experiment", "made_rows", "ours"]

COLUMNS = ("changes", "management", "handovers", "overhead", "delay", "reconfiguration", "load_spread")
Made = Callable[[Point], float]


def ours(point: Point) -> bool:
    return str(point["system"]).startswith("DYNATOPS")


def made_rows(id_: str, value: Made) -> list[Row]:
    """The same number in all columns: a figure looks at those that it is about."""
    points = experiment(id_).points(Scale.QUICK)
    return [{**point, "seed": seed, **dict.fromkeys(COLUMNS, value(point))} for point in points for seed in (0, 1)]


def check_claims(id_: str, good: Made, *bad: Made) -> None:
    """As claimed of the one, of none of the others; each can be drawn, and what is published is measured."""
    found = experiment(id_)
    findings = found.reduce(made_rows(id_, good))
    assert findings.verdict == "as claimed"
    assert found.published.keys() <= findings.measured.keys()
    assert found.plot(made_rows(id_, good)).axes
    for each in bad:
        assert found.reduce(made_rows(id_, each)).verdict == "not as claimed"
    assert {point["users"] for point in found.points(Scale.PAPER)} <= {40_000, 50_000}


def check_measured(id_: str, system: str = "DYNATOPS", **small: int) -> None:
    """One point, made smaller: what the figure shows is there, and the same seed gives the same."""
    found = experiment(id_)
    point = next(each for each in found.points(Scale.QUICK) if each["system"] == system)
    shrunk = {**point, "users": 200, "hours": 36 if point["model"] == "location" else 6, **small}
    row = found.measure(shrunk, 3)
    assert row == found.measure(shrunk, 3)
    assert set(COLUMNS) <= row.keys()


def check_plans(id_: str) -> None:
    """A figure of what plans save: measured, then not as claimed where one saves nothing, or where all is alike."""
    found, rows = experiment(id_), quick_rows(id_)
    saved = {name: [float(row["cost_saved"]) for row in rows if row["search"] == name] for name in ("better", "greedy")}
    assert sum(saved["better"]) > sum(saved["greedy"])
    assert found.published.keys() <= found.reduce(rows).measured.keys()
    assert len(found.plot(rows).axes) == 2
    skewed = [{**row, "cost_saved": 20.0 if row["pattern"] == "multimodal" else 10.0} for row in rows]
    greedy = next(row for row in rows if row["search"] == "greedy")
    assert found.reduce(skewed).verdict == "as claimed"
    assert found.reduce([*skewed, {**greedy, "cost_saved": 0.0}]).verdict == "not as claimed"
    assert found.reduce([{**row, "cost_saved": 10.0} for row in rows]).verdict == "not as claimed"
