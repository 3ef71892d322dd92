"""swap-fig12b: where tables travel, they are nearly all of a swap."""

from __future__ import annotations

from reknit.lab.experiment import Scale, Verdict
from tests.lab.experiments.quick import experiment, quick_rows

ID = "swap-fig12b"


def test_nearly_all_is_tables() -> None:
    findings = experiment(ID).reduce(quick_rows(ID))
    assert findings.verdict is Verdict.AS_CLAIMED
    assert findings.measured["tables that travel"].value > 50 * findings.measured["its messages, without tables"].value


def test_rows_with_little_in_their_tables_are_not_as_claimed() -> None:
    rows = [{**row, "tables_bytes": 100.0, "total_bytes": 400.0} for row in quick_rows(ID)]
    assert experiment(ID).reduce(rows).verdict is Verdict.NOT_AS_CLAIMED


def test_the_messages_are_the_same_as_without_tables() -> None:
    for column in ("lock_bytes", "swap_bytes", "open_bytes", "close_bytes"):
        assert [row[column] for row in quick_rows(ID)] == [row[column] for row in quick_rows("swap-fig12a")]


def test_every_published_quantity_is_measured() -> None:
    assert experiment(ID).published.keys() <= experiment(ID).reduce(quick_rows(ID)).measured.keys()


def test_the_paper_has_one_scenario() -> None:
    [point] = experiment(ID).points(Scale.PAPER)
    assert (point["routing"], point["brokers"], point["subscriptions"]) == ("subscription-forwarding", 100, 10)


def test_it_can_be_drawn() -> None:
    [axes] = experiment(ID).plot(quick_rows(ID)).axes
    assert len(axes.patches) == 8
