"""epidemic-discussion: each sentence is decided by its own settings, and by nothing else."""

from __future__ import annotations

import pytest

from reknit.lab.experiment import Row, Scale
from reknit.lab.experiments.epidemic_discussion import CLAIMS, EXPERIMENT

GOOD = {
    ("push, 1 pattern per event", "latency_s"): 0.2,
    ("combined, small buffer, strangers first", "delivered"): 0.9,
    ("combined, small buffer, by chance", "delivered"): 0.9,
    ("push, large buffer, long interval", "overhead"): 0.1,
    ("none, loss 5 %", "delivered"): 0.5,
    ("push, passed on by all", "delivered"): 0.9,
    ("combined, high load", "delivered"): 0.9,
}
"""Where a setting is to be better than all others are."""

BAD = [
    ("push, half as many patterns", "latency_s", 0.1),
    ("combined, small buffer, strangers first", "delivered", 0.7),
    ("combined, small buffer, by chance", "delivered", 0.7),
    ("push, large buffer, long interval", "overhead", 0.3),
    ("random-pull, loss 5 %", "delivered", 0.5),
    ("push, passed on by half", "delivered", 0.95),
    ("push, high load", "delivered", 0.95),
    ("push, high load", "overhead", 0.4),
]


def _rows(*otherwise: tuple[str, str, float]) -> list[Row]:
    made = {**GOOD, **{(scene, quantity): value for scene, quantity, value in otherwise}}
    rows = []
    for point in EXPERIMENT.points(Scale.PAPER):
        plain = {"delivered": 0.8, "overhead": 0.2, "latency_s": 0.3}
        here = {quantity: made.get((str(point["scene"]), quantity), value) for quantity, value in plain.items()}
        rows += [{**point, "seed": seed, **here} for seed in (0, 1)]
    return rows


def test_all_sentences_may_hold() -> None:
    found = EXPERIMENT.reduce(_rows())
    assert found.verdict == "as claimed"
    assert all(found.measured[claim].value == 1.0 for claim in CLAIMS)
    assert len(EXPERIMENT.plot(_rows()).axes) == 3


@pytest.mark.parametrize(("claim", "bad"), list(zip(CLAIMS, BAD, strict=True)))
def test_each_sentence_may_fail_alone(claim: str, bad: tuple[str, str, float]) -> None:
    found = EXPERIMENT.reduce(_rows(bad))
    assert [each for each in CLAIMS if found.measured[each].value == 0.0] == [claim]
    assert found.verdict == "not as claimed"


def test_the_settings_differ_from_the_default_as_they_say() -> None:
    points = {point["scene"]: point for point in EXPERIMENT.points(Scale.PAPER)}
    assert {point["loss"] for scene, point in points.items() if "loss 5 %" in str(scene)} == {0.05}
    assert {point["publish_per_s"] for scene, point in points.items() if "high load" in str(scene)} == {50.0}
    assert points["push, passed on by half"]["forward"] == 0.5
    assert points["combined, small buffer, by chance"]["cache"] == "probabilistic"
