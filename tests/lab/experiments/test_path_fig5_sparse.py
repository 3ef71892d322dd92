"""path-fig5-sparse: the order of the algorithms, never a published percentage."""

from __future__ import annotations

from reknit.lab.experiment import Scale, Verdict
from reknit.lab.reduce import group
from tests.lab.experiments.small import experiment, rows

ID = "path-fig5-sparse"


def test_path_is_ahead_of_both_rivals_and_the_batched_one_ahead_of_path() -> None:
    findings = experiment(ID).reduce(rows(ID))
    assert findings.verdict is Verdict.AS_CLAIMED
    found = {name: each.value for name, each in findings.measured.items()}
    assert found["path"] > found["deferred"]
    assert found["path"] > 0.0
    assert found["lower bound"] > found["path-batched"] > found["path"]


def test_no_run_gets_below_the_bound() -> None:
    assert all(float(row["said"]) > float(row["bound"]) for row in rows(ID))


def test_all_strategies_get_the_same_worlds() -> None:
    for some in group(rows(ID), "shape", "patterns", "brokers", "seed").values():
        assert len({row["bound"] for row in some}) == 1


def test_rows_that_say_otherwise_are_not_as_claimed() -> None:
    turned = [{**row, "overhead": 1.0 if row["strategy"] == "strawman" else row["overhead"]} for row in rows(ID)]
    findings = experiment(ID).reduce(turned)
    assert findings.verdict is Verdict.NOT_AS_CLAIMED
    assert findings.measured["settings in which path is not ahead"].value > 0


def test_every_shape_is_swept_at_either_scale() -> None:
    for scale in Scale:
        points = experiment(ID).points(scale)
        assert {point["shape"] for point in points} == {"random", "long", "bushy"}
        assert len({tuple(point.items()) for point in points}) == len(points)
    assert max(int(point["brokers"]) for point in experiment(ID).points(Scale.PAPER)) == 200


def test_it_can_be_drawn() -> None:
    assert len(experiment(ID).plot(rows(ID)).axes) == 4
