"""The shape of traffic: the numbers are those of the data they are said to be of, and draws have it."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from statistics import fmean, pstdev

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reknit.cli._demo.shape import EDITS, EXPONENT, SHIFT, SPREAD, TOPICS, Shape, fit, read_shape
from reknit.cli._problem import BadInput
from tests.pipeline.places import DATA

FILE = DATA / "wikipedia_edits_20150912.parquet"


@pytest.mark.skipif(not FILE.exists(), reason=f"the edits are not at {FILE}; REKNIT_DATA names the place")
def test_the_numbers_are_those_of_the_edits() -> None:
    counts = Counter(pq.read_table(FILE, columns=["channel"]).column("channel").to_pylist())
    assert len(counts) == TOPICS
    assert fit(list(counts.values())) == (EXPONENT, SHIFT)
    real = read_shape(f"{FILE}:channel:ts")
    assert real.spread == pytest.approx(SPREAD, abs=0.05)
    total = sum(real.weights)
    fitted = [weight / sum(EDITS.weights) for weight in EDITS.weights]
    assert sum(abs(a - b / total) for a, b in zip(fitted, real.weights, strict=True)) / 2 < 0.12


def test_a_fit_finds_what_was_drawn() -> None:
    counts = [round(1e6 * (rank + 2.0) ** -1.5) for rank in range(1, 41)]
    assert fit(counts) == (1.5, 2.0)


def test_draws_have_the_shape() -> None:
    rng = random.Random(1)
    drawn = Counter(EDITS.draw([1, 2, 9], rng) for _ in range(20_000))
    assert drawn[1] / drawn[2] == pytest.approx(EDITS.weights[0] / EDITS.weights[1], rel=0.1)
    gaps = [EDITS.gap(2.0, rng) for _ in range(50_000)]
    assert fmean(gaps) == pytest.approx(2.0, rel=0.05)
    assert pstdev(gaps) / fmean(gaps) == pytest.approx(SPREAD, rel=0.1)
    assert Shape((1.0,), 0.0).gap(2.0, rng) == 2.0


def test_a_shape_is_read_from_real_events(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"what": ["a", "b", "a", "a"], "when": [0.0, 1.0, 2.0, 4.0]}), path)
    assert read_shape(f"{path}:what:when") == Shape((3.0, 1.0), 0.0)
    assert read_shape("edits") is EDITS


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("even", "--shape even: write edits, or FILE:TOPICS:TIMES"),
        ("none.parquet:a:b", "--shape none.parquet: "),
    ],
)
def test_what_is_none_is_one_line(text: str, line: str) -> None:
    with pytest.raises(BadInput) as error:
        read_shape(text)
    assert line in str(error.value)
    assert "\n" not in str(error.value)
