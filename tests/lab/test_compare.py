"""Published against measured, in words."""

from __future__ import annotations

import pytest

from reknit.lab.compare import Line, disagreeing, lines_of, say_measured, say_published
from reknit.lab.experiment import Measured, Published, Scale
from reknit.lab.report import make_report
from tests.lab.coins import COINS, points, reduce


def test_what_was_published_comes_first_and_nothing_is_left_out() -> None:
    report = make_report(COINS, reduce([{"heads": 0.5}]), Scale.QUICK, points(Scale.QUICK), 1, "abc", 0.0)
    assert lines_of(report) == [Line("heads", "0.5 (Figure 1)", "0.5"), Line("edges", "no number", "not measured")]
    assert disagreeing([report]) == []


def test_a_verdict_that_is_not_as_claimed_is_a_disagreement() -> None:
    report = make_report(COINS, reduce([{"heads": 1.0}]), Scale.QUICK, points(Scale.QUICK), 1, "abc", 0.0)
    assert disagreeing([report]) == [report]


@pytest.mark.parametrize(
    ("quantity", "said"),
    [
        (None, "not measured"),
        (Measured(12.3456, "%"), "12.35 %"),
        (Measured(2.0, "", 1.5, 2.5), "2 [1.5, 2.5]"),
        (Measured(2.0, "", 2.0, 2.0), "2"),
    ],
)
def test_measured(quantity: Measured | None, said: str) -> None:
    assert say_measured(quantity) == said


@pytest.mark.parametrize(
    ("quantity", "said"),
    [
        (None, ""),
        (Published(None), "no number"),
        (Published(None, "%", "only in words"), "only in words"),
        (Published(76.0, "%"), "76 %"),
    ],
)
def test_published(quantity: Published | None, said: str) -> None:
    assert say_published(quantity) == said
