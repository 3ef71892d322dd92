"""What cannot be tried is refused before anything is read."""

from __future__ import annotations

import pytest

from reknit.model.pattern import Pattern
from reknit.pipeline.backtest import Tried, pattern_of
from reknit.pipeline.flow import BadFlow


def test_a_pattern_is_made_of_what_is_told() -> None:
    assert pattern_of(Tried("a/+", "3 <= n")) == Pattern("a/+", "n >= 3")


@pytest.mark.parametrize(
    ("tried", "said"),
    [
        (Tried("a/#/b"), "'#' must be alone in the last level"),
        (Tried("a", "n >"), "bad selector"),
        (Tried(window_s=0.0), "window_s is 0.0: it has to be larger than 0"),
    ],
)
def test_what_is_none_is_refused(tried: Tried, said: str) -> None:
    with pytest.raises(BadFlow, match=said):
        pattern_of(tried)
