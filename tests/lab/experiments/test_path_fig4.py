"""path-fig4: delivery drops, and comes back to exactly all."""

from __future__ import annotations

from functools import cache

from reknit.lab.experiment import Row, Scale, Verdict
from reknit.lab.experiments.path_fig4 import EXPERIMENT, STRATEGIES


@cache
def _measured() -> tuple[Row, ...]:
    points = [{**point, "brokers": 16} for point in EXPERIMENT.points(Scale.QUICK)]
    return tuple({**point, "seed": 1, **EXPERIMENT.measure(point, 1)} for point in points)


def _rows() -> list[Row]:
    return [dict(row) for row in _measured()]


def test_all_that_is_published_while_nothing_moves_is_delivered() -> None:
    findings = EXPERIMENT.reduce(_rows())
    assert findings.verdict is Verdict.AS_CLAIMED
    for row in _rows():
        assert row["at_rest"] == 1.0
        assert float(row["lowest"]) < 1.0
        assert int(row["owed_at_rest"]) > 500


def test_nothing_is_lost_before_the_first_and_behind_the_last_change() -> None:
    for row in _rows():
        calm = [f"at_{place / 100:.2f}" for place in [*range(0, 290, 5), *range(740, 1000, 5)]]
        assert [name for name in calm if row[name] != 1.0] == []


def test_one_event_lost_at_rest_is_not_as_claimed() -> None:
    rows = [{**row, "at_rest": 0.9999} if row["strategy"] == "path" else row for row in _rows()]
    assert EXPERIMENT.reduce(rows).verdict is Verdict.NOT_AS_CLAIMED


def test_nothing_lost_at_all_is_not_as_claimed_either() -> None:
    rows = [{**row, "lowest": 1.0} for row in _rows()]
    assert EXPERIMENT.reduce(rows).verdict is Verdict.NOT_AS_CLAIMED


def test_it_can_be_drawn() -> None:
    assert len(EXPERIMENT.plot(_rows()).axes) == len(STRATEGIES)
