"""swap-table1: promises are counted, and the verdict follows from the counts alone."""

from __future__ import annotations

import re

import pytest

from reknit.lab.experiment import Row, Verdict
from reknit.lab.experiments.swap_table1 import PROMISES, SUBSCRIPTIONS
from tests.lab.experiments.quick import experiment, quick_rows

ID = "swap-table1"


def _kept(strategy: str, rows: list[Row]) -> float:
    return experiment(ID).reduce(rows).measured[f"promises kept: {strategy}"].value


@pytest.mark.long
def test_the_swap_keeps_what_is_not_about_time_and_no_other_strategy_does() -> None:
    found = experiment(ID).reduce(quick_rows(ID)).measured
    for promise in list(PROMISES)[:-1]:
        assert found[f"{promise}: swap"].value == 0
    for strategy in ("strawman", "deferred", "path", "path-batched"):
        assert found[f"guaranteed delivery: {strategy}"].value > 0
        assert "never reached" in found[f"guaranteed delivery: {strategy}"].unit


def test_what_is_late_in_a_swap_is_so_by_less_than_a_few_links_take() -> None:
    assert experiment(ID).reduce(quick_rows(ID)).measured["late by at most: swap"].value < 10


def test_subscriptions_are_counted_and_late_in_a_swap_by_less_than_its_tables_take() -> None:
    found = experiment(ID).reduce(quick_rows(ID)).measured
    assert re.match(r"broken, of \d+ told in \d+ runs; new/\d+ came to b\d", found["subscriptions in time: swap"].unit)
    assert 0 < found["subscriptions late by at most: swap"].value < 40


def test_as_claimed_only_if_the_swap_keeps_all_and_nobody_else_does() -> None:
    broken = [name for name, _ in PROMISES.values()]
    clean = [{**row, **dict.fromkeys(broken, 0)} if row["strategy"] == "swap" else row for row in quick_rows(ID)]
    assert experiment(ID).reduce(clean).verdict is Verdict.AS_CLAIMED
    assert _kept("swap", clean) == len(PROMISES)
    all_clean = [{**row, **dict.fromkeys(broken, 0)} for row in quick_rows(ID)]
    assert experiment(ID).reduce(all_clean).verdict is Verdict.NOT_AS_CLAIMED
    for column in broken:
        one = [{**row, column: 1} if row["strategy"] == "swap" else row for row in clean]
        assert experiment(ID).reduce(one).verdict is Verdict.NOT_AS_CLAIMED
        assert _kept("swap", one) == len(PROMISES) - 1


def test_every_published_quantity_is_measured() -> None:
    assert experiment(ID).published.keys() <= experiment(ID).reduce(quick_rows(ID)).measured.keys()


def test_it_can_be_drawn() -> None:
    [axes] = experiment(ID).plot(quick_rows(ID)).axes
    assert len(axes.patches) == 5 * len(PROMISES | SUBSCRIPTIONS)
