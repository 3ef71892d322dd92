"""swap-fig12a: where all is known everywhere, a swap carries names and no patterns."""

from __future__ import annotations

from reknit.lab.experiment import Scale, Verdict
from tests.lab.experiments.quick import experiment, quick_rows

ID = "swap-fig12a"


def test_no_kind_stands_out_and_no_pattern_travels() -> None:
    found = experiment(ID).reduce(quick_rows(ID)).measured
    assert found["dearest kind"].value < found["its messages, without tables"].value * 1000 / 2
    assert 0 < found["tables that travel"].value < 2 * found["its messages, without tables"].value


def test_the_verdict_is_about_all_of_it() -> None:
    for total, verdict in ((249.0, Verdict.AS_CLAIMED), (251.0, Verdict.NOT_AS_CLAIMED)):
        rows = [{**row, "total_bytes": total} for row in quick_rows(ID)]
        assert experiment(ID).reduce(rows).verdict is verdict


def test_every_published_quantity_is_measured() -> None:
    assert experiment(ID).published.keys() <= experiment(ID).reduce(quick_rows(ID)).measured.keys()


def test_the_paper_has_one_scenario() -> None:
    [point] = experiment(ID).points(Scale.PAPER)
    assert (point["routing"], point["brokers"], point["subscriptions"]) == ("global-table", 100, 10)


def test_it_can_be_drawn() -> None:
    [axes] = experiment(ID).plot(quick_rows(ID)).axes
    assert len(axes.patches) == 8
