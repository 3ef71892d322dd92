"""What every figure of PATH about overhead is held to: the order of the algorithms, never a published percentage."""

from __future__ import annotations

from reknit.lab.experiment import Scale, Verdict
from reknit.lab.reduce import group
from tests.lab.experiments.small import experiment, rows

__all__ = ["OverheadFigure"]


class OverheadFigure:
    """The tests of one figure: a class whose name begins with ``Test``, and its ``id``."""

    id = ""

    def test_path_is_ahead_of_both_rivals_and_the_batched_one_ahead_of_path(self) -> None:
        findings = experiment(self.id).reduce(rows(self.id))
        assert findings.verdict is Verdict.AS_CLAIMED
        found = {name: each.value for name, each in findings.measured.items()}
        assert found["path"] > found["deferred"]
        assert found["path"] > 0.0
        assert found["lower bound"] > found["path-batched"] > found["path"]
        named = {name.partition(": ")[2] for name in found if name.startswith("path is not ahead of")}
        assert found["settings in which path is not ahead"] == len(named)

    def test_no_run_gets_below_the_bound(self) -> None:
        assert all(float(row["said"]) > float(row["bound"]) for row in rows(self.id))

    def test_all_strategies_get_the_same_worlds(self) -> None:
        for some in group(rows(self.id), "shape", "patterns", "brokers", "seed").values():
            assert len({row["bound"] for row in some}) == 1

    def test_rows_that_say_otherwise_are_not_as_claimed(self) -> None:
        turned = [
            {**row, "overhead": 1.0 if row["strategy"] == "strawman" else row["overhead"]} for row in rows(self.id)
        ]
        findings = experiment(self.id).reduce(turned)
        assert findings.verdict is Verdict.NOT_AS_CLAIMED
        behind = [name for name in findings.measured if name.startswith("path is not ahead of strawman: ")]
        settings = group(rows(self.id), "shape", "patterns", "brokers")
        assert findings.measured["settings in which path is not ahead"].value == len(behind) == len(settings)
        for shape, patterns, brokers in settings:
            named = findings.measured[f"path is not ahead of strawman: {shape} trees of {brokers}, {patterns} patterns"]
            assert named.value > 0

    def test_every_shape_is_swept_at_either_scale(self) -> None:
        for scale in Scale:
            points = experiment(self.id).points(scale)
            assert {point["shape"] for point in points} == {"random", "long", "bushy"}
            assert len({tuple(point.items()) for point in points}) == len(points)
        assert max(int(point["brokers"]) for point in experiment(self.id).points(Scale.PAPER)) == 200

    def test_it_can_be_drawn(self) -> None:
        assert len(experiment(self.id).plot(rows(self.id)).axes) == 4
