"""swap-fig15: the rarer publications are, the less a swap adds to them; never a published number."""

from __future__ import annotations

import pytest

from reknit.lab.experiment import Scale, Verdict
from tests.lab.experiments.quick import experiment, quick_rows

ID = "swap-fig15"


@pytest.mark.long
def test_it_falls_and_is_next_to_nothing() -> None:
    findings = experiment(ID).reduce(quick_rows(ID))
    assert findings.verdict is Verdict.AS_CLAIMED
    assert 0 <= findings.measured["pub, of all"].value < 1


def test_most_of_it_is_copies_of_no_use() -> None:
    busiest = [row for row in quick_rows(ID) if row["period_s"] == 0.02]
    assert all(0 < float(row["copies_bytes"]) <= float(row["pub_bytes"]) for row in busiest)


def test_what_rises_is_not_as_claimed() -> None:
    rows = [{**row, "pub_bytes": float(row["period_s"])} for row in quick_rows(ID)]
    assert experiment(ID).reduce(rows).verdict is Verdict.NOT_AS_CLAIMED


def test_the_published_periods_are_measured() -> None:
    assert 0.75 in {point["period_s"] for point in experiment(ID).points(Scale.PAPER)}


def test_it_can_be_drawn() -> None:
    [axes] = experiment(ID).plot(quick_rows(ID)).axes
    assert len(axes.lines) == 1
