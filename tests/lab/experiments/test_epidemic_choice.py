"""epidemic-choice: the margin to the best fixed choice decides, in delivery and in cost, wherever it is worst."""

from __future__ import annotations

import pytest

from reknit.lab.experiment import Row, Scale
from reknit.lab.experiments.epidemic_choice import COSTS, DELIVERS, EXPERIMENT, SCENES

BEST = ("combined", 0.1)


def _rows(scene: str = "", **auto: float) -> list[Row]:
    """``auto``: what it does otherwise in one scene."""
    rows = []
    for point in EXPERIMENT.points(Scale.PAPER):
        cheap = {"in_time": 0.5, "overhead": 0.01, "heartbeats": 0.1}  # and delivers little, so it is no choice
        made = {"in_time": 0.999, "overhead": 0.4, "heartbeats": 0.1}
        if point["algorithm"] not in ("auto", "combined"):
            made = cheap
        elif point["algorithm"] == "auto" and point["scene"] == scene:
            made |= auto
        elif (point["algorithm"], point["gossip_s"]) == ("combined", 0.03):
            made |= {"overhead": 2.0}
        rows += [{**point, "seed": seed, **made} for seed in (0, 1)]
    return rows


def test_within_both_margins_it_is_as_claimed() -> None:
    found = EXPERIMENT.reduce(_rows())
    assert found.verdict == "as claimed"
    assert found.measured["overhead beside the cheapest that delivers as much, at most"].value == pytest.approx(1.0)
    assert len(EXPERIMENT.plot(_rows()).axes) == len(SCENES)


@pytest.mark.parametrize(
    ("worse", "missed"), [({"in_time": 0.99}, DELIVERS), ({"overhead": 0.5}, COSTS), ({"heartbeats": 0.2}, COSTS)]
)
def test_one_scene_in_which_it_is_worse_is_enough(worse: dict[str, float], missed: str) -> None:
    found = EXPERIMENT.reduce(_rows("12 patterns", **worse))
    assert found.verdict == "not as claimed"
    assert [name for name in EXPERIMENT.published if found.measured[name].value == 0.0] == [missed]


def test_every_fixed_algorithm_runs_at_each_interval_in_each_scene() -> None:
    points = EXPERIMENT.points(Scale.PAPER)
    assert len(points) == len(SCENES) * (5 * 3 + 1)
    assert len({(point["scene"], point["algorithm"], point["gossip_s"]) for point in points}) == len(points)
