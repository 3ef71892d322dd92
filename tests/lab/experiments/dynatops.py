"""Rows about DYNATOPS as an experiment could have measured them, made by hand so that claims can be true or not."""

from __future__ import annotations

from collections.abc import Callable

from reknit.lab.experiment import Experiment, Point, Row, Scale
from reknit.lab.registry import all_experiments

__all__ = ["check_claims", "check_measured", "experiment", "made_rows", "ours"]

COLUMNS = ("changes", "management", "handovers", "overhead", "delay", "reconfiguration", "load_spread")
Made = Callable[[Point], float]


def experiment(id_: str) -> Experiment:
    return all_experiments()[id_]


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
