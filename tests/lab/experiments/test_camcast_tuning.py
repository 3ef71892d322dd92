"""camcast-tuning: reception is what the formula says, whatever is turned."""

from __future__ import annotations

from reknit.lab.experiment import Row, Scale, Verdict
from reknit.lab.experiments.camcast_tuning import Setting, _expected
from tests.lab.experiments.small import experiment

ID = "camcast-tuning"


def rows(off: float = 0.0) -> list[Row]:
    """As if measured, each as the formula has it."""
    made: list[Row] = []
    for point in experiment(ID).points(Scale.QUICK):
        value = 100 * _expected(Setting(**point)) + off  # type: ignore[arg-type]
        made += [
            {**point, "seed": seed, "received": value, "messages": 900, "upward": 9, "parasites": 0} for seed in (0, 1)
        ]
    return made


def test_as_claimed_where_the_formula_holds_and_not_where_it_does_not() -> None:
    findings = experiment(ID).reduce(rows())
    assert findings.verdict is Verdict.AS_CLAIMED
    assert experiment(ID).published.keys() <= findings.measured.keys()
    assert experiment(ID).reduce(rows(off=-60.0)).verdict is Verdict.NOT_AS_CLAIMED
    assert experiment(ID).reduce([{**row, "parasites": 1} for row in rows()]).verdict is Verdict.NOT_AS_CLAIMED


def test_one_real_event_for_each_parameter_that_is_turned() -> None:
    found = experiment(ID)
    for turned in "gazc":
        point = next(point for point in found.points(Scale.QUICK) if point["turned"] == turned)
        row = found.measure(point, 1)
        assert row["parasites"] == 0
        assert int(row["messages"]) > 0


def test_it_can_be_drawn() -> None:
    """What c costs in one panel, what the others cost, which is much less, in the other."""
    inside, between = experiment(ID).plot(rows()).axes
    assert [str(line.get_label()) for line in inside.lines] == ["c"]
    assert sorted(str(line.get_label()) for line in between.lines) == ["a", "g", "z"]
