"""Rows about lost events as an experiment could have measured them, made by hand so that claims can be true or not."""

from __future__ import annotations

from collections.abc import Callable

from reknit.lab.experiment import Experiment, Row, Scale
from reknit.lab.registry import all_experiments

__all__ = ["Shape", "check_shape", "experiment", "made_rows"]

Shape = dict[tuple[str, str], Callable[[float], float]]
"""By quantity and algorithm ("" for all others): from the parameter, from 0 for its least value to 1, to the value."""

PLAIN: Shape = {
    ("delivered", "none"): lambda x: 0.5,
    ("delivered", ""): lambda x: 0.9,
    ("overhead", ""): lambda x: 0.5,
    ("latency_s", ""): lambda x: 0.3,
    ("heartbeats", ""): lambda x: 0.2,
    ("messages", ""): lambda x: 2.0,
    ("per_broker_s", ""): lambda x: 20.0,
}


def experiment(id_: str) -> Experiment:
    return all_experiments()[id_]


def made_rows(id_: str, parameter: str, shape: Shape) -> list[Row]:
    points = experiment(id_).points(Scale.QUICK)
    values = sorted({float(point[parameter]) for point in points})
    rows = []
    for point in points:
        name, x = str(point["algorithm"]), (float(point[parameter]) - values[0]) / (values[-1] - values[0])
        made = {}
        for quantity in dict.fromkeys(quantity for quantity, _ in PLAIN):
            for key in ((quantity, name), (quantity, "")):
                if key in shape or key in PLAIN:
                    made[quantity] = {**PLAIN, **shape}[key](x)
                    break
        rows += [{**point, "seed": seed, **made} for seed in (0, 1)]
    return rows


def check_shape(id_: str, parameter: str, good: Shape, bad: dict[str, Shape]) -> None:
    """All claims hold of the one; each fails alone where something is otherwise. ``bad``: by claim, what that is."""
    found = experiment(id_).reduce(made_rows(id_, parameter, good))
    claims = experiment(id_).published
    assert {name: found.measured[name].value for name in claims} == dict.fromkeys(claims, 1.0)
    assert found.verdict == "as claimed"
    assert list(bad) == list(claims)
    for claim, otherwise in bad.items():
        found = experiment(id_).reduce(made_rows(id_, parameter, {**good, **otherwise}))
        assert {name: found.measured[name].value for name in claims} == {**dict.fromkeys(claims, 1.0), claim: 0.0}
        assert found.verdict == "not as claimed"
    assert len(experiment(id_).plot(made_rows(id_, parameter, good)).axes) == 6
    assert len({point["algorithm"] for point in experiment(id_).points(Scale.PAPER)}) == 7
    assert all(point["brokers"] >= 50 for point in experiment(id_).points(Scale.PAPER))
