"""What the benchmark of swaps makes of what it has measured."""

from __future__ import annotations

import pytest

from bench.crowd import Heard
from bench.swaps import QUICK, WHOLE, _enough, _quick_enough


@pytest.mark.parametrize(("received", "verdict"), [(999_999, "below"), (1_000_000, "ok"), (1_360_000, "ok")])
def test_fewer_than_a_million_deliveries_are_too_few(received: int, verdict: str) -> None:
    row = _enough(Heard(sent=30_000, owed=received, received=received), WHOLE, quick=False)
    assert (row.verdict, row.peer) == (verdict, "1,000,000 = 1")
    assert _enough(Heard(received=1), QUICK, quick=True).verdict == "information"


def test_the_longest_swap_is_a_row_of_its_own() -> None:
    middle, longest = _quick_enough("one swap", [0.01, 0.02, 0.02, 0.08], 1.0)
    assert (middle.verdict, middle.measured) == ("ok", pytest.approx(2.5))
    assert (longest.measure, longest.verdict) == ("one swap: the longest", "information")
    assert longest.measured == pytest.approx(0.625)
    assert longest.note == "80.0 ms; 1 of 4 took longer than 50 ms"
