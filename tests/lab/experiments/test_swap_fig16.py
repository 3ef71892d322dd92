"""swap-fig16: a broker that leaves costs as much for each subscription, however many there are."""

from __future__ import annotations

from reknit.lab.experiment import Scale, Verdict
from tests.lab.experiments.quick import experiment, quick_rows

ID = "swap-fig16"


def test_it_grows_linearly() -> None:
    findings = experiment(ID).reduce(quick_rows(ID))
    assert findings.verdict is Verdict.AS_CLAIMED
    assert findings.measured["without subscriptions, one broker"].value < 1


def test_what_grows_with_the_square_is_not_as_claimed() -> None:
    rows = [{**row, "total_bytes": float(row["subscriptions"]) ** 2} for row in quick_rows(ID)]
    assert experiment(ID).reduce(rows).verdict is Verdict.NOT_AS_CLAIMED


def test_complete_knowledge_costs_more_for_others_hear_of_it() -> None:
    cost = {row["routing"]: row["total_bytes"] for row in quick_rows(ID) if row["subscriptions"] == 20}
    assert float(cost["global-table"]) > 2 * float(cost["subscription-forwarding"])


def test_the_paper_goes_up_to_ten_thousand_subscriptions() -> None:
    points = experiment(ID).points(Scale.PAPER)
    assert max(int(point["subscriptions"]) for point in points) == 10_000
    assert {point["brokers"] for point in points if point["subscriptions"] == 100} == {20, 100}


def test_it_can_be_drawn() -> None:
    [axes] = experiment(ID).plot(quick_rows(ID)).axes
    assert len(axes.lines) == 2
