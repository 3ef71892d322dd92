"""camcast-tuning: reliability and reception are what the formulas say, whatever is turned."""

from __future__ import annotations

from functools import cache

from reknit.lab.experiment import Row, Scale, Verdict
from tests.lab.experiments.small import experiment

ID = "camcast-tuning"


@cache
def _measured() -> tuple[Row, ...]:
    found = experiment(ID)
    seeds = range(found.seeds[Scale.QUICK])
    return tuple(
        {**point, "seed": seed, **found.measure(point, seed)} for point in found.points(Scale.QUICK) for seed in seeds
    )


def rows() -> list[Row]:
    return [dict(row) for row in _measured()]


def spoiled(column: str, off: float) -> list[Row]:
    return [{**row, column: float(row[column]) + off} for row in rows()]


def test_real_events_are_as_the_formulas_say() -> None:
    """Those of the quick scale: twenty for each setting, none of which knows of the formulas."""
    findings = experiment(ID).reduce(rows())
    assert findings.verdict is Verdict.AS_CLAIMED
    assert experiment(ID).published.keys() <= findings.measured.keys()
    for turned, low, high in (("g", 1, 20), ("c", -2, 5)):
        bought = [findings.measured[f"{turned} = {each}: reliability at the root"].value for each in (low, high)]
        assert bought[0] + 20 < bought[1]


def test_not_as_claimed_where_the_formulas_do_not_hold() -> None:
    for column, off in (("reliable", -60.0), ("received", -60.0), ("parasites", 1.0)):
        assert experiment(ID).reduce(spoiled(column, off)).verdict is Verdict.NOT_AS_CLAIMED


def test_reliability_is_of_events_that_all_get() -> None:
    whole = {row["reliable"] for row in rows()}
    assert whole == {0.0, 100.0}
    assert all((row["received"] == 100.0) == (row["reliable"] == 100.0) for row in rows())


def test_a_formula_for_many_is_not_asked_about_a_few_in_which_gossip_does_not_take_off() -> None:
    """With c = 0 a root of five sends one message each; there reliability is judged, and reception is not."""
    kept = [{**row, "received": 50.0} if (row["turned"], row["value"]) == ("c", 0.0) else row for row in rows()]
    assert experiment(ID).reduce(kept).verdict is Verdict.AS_CLAIMED


def test_it_is_one_chart() -> None:
    """On one axis of messages: with a line for each parameter, and one for reception beside it."""
    [axes] = experiment(ID).plot(rows()).axes
    named = [str(line.get_label()) for line in axes.lines if not str(line.get_label()).startswith("_")]
    assert named == ["a", "c", "g", "z"]
    assert axes.get_xscale() == "log"
    assert {point["turned"] for point in experiment(ID).points(Scale.QUICK)} == set(named)
