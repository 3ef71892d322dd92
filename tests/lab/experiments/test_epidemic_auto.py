"""epidemic-auto: what has to be reached, the price, and the margin to the best fixed algorithm each decide."""

from __future__ import annotations

import pytest

from reknit.lab.experiment import Row, Scale
from reknit.lab.experiments.epidemic_auto import EXPERIMENT, TARGETS

GOOD = {"in_time": 1.0, "messages": 1.5, "latency_s": 0.5}


def _rows(**auto: float) -> list[Row]:
    rows = []
    for point in EXPERIMENT.points(Scale.PAPER):
        made = {**GOOD, **auto} if point["algorithm"] == "auto" else {**GOOD, "in_time": 0.995, "messages": 5.0}
        rows += [{**point, "seed": seed, **made} for seed in (0, 1)]
    return rows


def test_all_that_was_asked_for_is_judged() -> None:
    found = EXPERIMENT.reduce(_rows())
    assert {name: found.measured[name].value for name in EXPERIMENT.published} == dict.fromkeys(
        EXPERIMENT.published, 1.0
    )
    assert len(EXPERIMENT.published) == len(TARGETS) + 2
    assert found.verdict == "as claimed"
    assert len(EXPERIMENT.plot(_rows()).axes) == 3


@pytest.mark.parametrize(
    ("worse", "missed"), [({"in_time": 0.9985}, 3), ({"messages": 2.1}, 1), ({"in_time": 0.984}, len(TARGETS) + 1)]
)
def test_what_is_missed_is_said(worse: dict[str, float], missed: int) -> None:
    found = EXPERIMENT.reduce(_rows(**worse))
    assert found.verdict == "not as claimed"
    assert sum(found.measured[name].value == 0.0 for name in EXPERIMENT.published) == missed


def test_it_is_thirty_brokers_and_every_algorithm() -> None:
    points = EXPERIMENT.points(Scale.PAPER)
    assert {point["brokers"] for point in points} == {30}
    assert len({point["algorithm"] for point in points}) == 6
    assert {point["loss"] for point in points} == set(TARGETS)
