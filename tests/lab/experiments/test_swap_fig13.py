"""swap-fig13: growing with the subscriptions, and then hardly; never a published number."""

from __future__ import annotations

from reknit.lab.experiment import Scale, Verdict
from reknit.lab.experiments._swap import by, slopes
from tests.lab.experiments.quick import experiment, quick_rows

ID = "swap-fig13"


def test_tables_grow_and_then_hardly_do() -> None:
    assert experiment(ID).reduce(quick_rows(ID)).verdict is Verdict.AS_CLAIMED
    rows = [row for row in quick_rows(ID) if row["routing"] == "subscription-forwarding"]
    rise = slopes(by(rows, "subscriptions", "said_bytes"))
    assert rise == sorted(rise, reverse=True)
    assert rise[-1] < rise[0] / 4


def test_what_is_said_does_not_grow_where_all_is_known() -> None:
    said = [row for row in quick_rows(ID) if row["routing"] == "global-table"]
    few, many = ([row["said_bytes"] for row in said if row["subscriptions"] == count] for count in (1, 20))
    assert few == many


def test_a_line_that_goes_on_growing_is_not_as_claimed() -> None:
    rows = [{**row, "said_bytes": 100.0 * float(row["subscriptions"])} for row in quick_rows(ID)]
    assert experiment(ID).reduce(rows).verdict is Verdict.NOT_AS_CLAIMED


def test_the_paper_scale_has_the_published_points() -> None:
    points = experiment(ID).points(Scale.PAPER)
    assert {point["routing"] for point in points} == {"subscription-forwarding", "global-table"}
    named = [name.split(": ")[1] for name in experiment(ID).published]
    assert {f"{point['subscriptions']} subscriptions" for point in points} >= set(named)


def test_it_can_be_drawn() -> None:
    [axes] = experiment(ID).plot(quick_rows(ID)).axes
    assert len(axes.lines) == 2
