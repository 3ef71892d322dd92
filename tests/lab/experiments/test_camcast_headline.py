"""camcast-headline: as claimed, and not if an event misses anybody, too many pass it on, or crashes cost too much."""

from __future__ import annotations

from functools import cache

import pytest

from reknit.lab.experiment import Row, Scale, Verdict
from reknit.lab.experiments.camcast_headline import EVEN, FAILED, LIVE, SPLIT, by_formula
from tests.lab.experiments.small import experiment

LIKE_THAT = {"reliability": 1.0, "forwarding": 0.068, "below_plain": 0.0, "parasites": 0}
"""A gathering of 117 peers takes too long for most runs of the tests."""


@cache
def rows(live: bool) -> list[Row]:
    found = experiment("camcast-headline")
    return [
        {**point, "seed": seed, **(found.measure(point, seed) if live or point["part"] != LIVE else LIKE_THAT)}
        for point in found.points(Scale.QUICK)
        for seed in range(found.seeds[Scale.QUICK])
    ]


def test_the_headline_in_simulation() -> None:
    found, measured = experiment("camcast-headline"), rows(live=False)
    findings = found.reduce(measured)
    assert findings.verdict is Verdict.AS_CLAIMED
    assert found.published.keys() <= findings.measured.keys()
    [axes] = found.plot(measured).axes
    assert len(axes.patches) == 6


@pytest.mark.parametrize(
    ("part", "column", "value"),
    [
        (LIVE, "reliability", 0.95),
        (LIVE, "forwarding", 0.09),
        (FAILED, "below_plain", 0.06),
        (SPLIT, "parasites", 1),
    ],
)
def test_what_speaks_against_it(part: str, column: str, value: float) -> None:
    spoiled = [{**row, column: value} if row["part"] == part else row for row in rows(live=False)]
    assert experiment("camcast-headline").reduce(spoiled).verdict is Verdict.NOT_AS_CLAIMED


def test_an_even_split_cannot_reach_all() -> None:
    """Errata 8.2, 15: that nobody is drawn has a probability."""
    assert 0.95 < by_formula(EVEN, 2.0) < 0.97


@pytest.mark.long
def test_the_headline_with_live_peers() -> None:
    assert experiment("camcast-headline").reduce(rows(live=True)).verdict is Verdict.AS_CLAIMED
