"""camcast-rivals: as claimed at quick scale, and one parasite is enough against it."""

from __future__ import annotations

from reknit.lab.experiment import Scale, Verdict
from tests.lab.experiments.small import experiment


def test_the_comparison() -> None:
    found = experiment("camcast-rivals")
    rows = [
        {**point, "seed": seed, **found.measure(point, seed)}
        for point in found.points(Scale.QUICK)
        for seed in range(3)
    ]
    findings = found.reduce(rows)
    assert findings.verdict is Verdict.AS_CLAIMED
    assert found.published.keys() <= findings.measured.keys()
    assert findings.measured["CAMCAST: received"].value > 60
    [axes] = found.plot(rows).axes
    assert len(axes.patches) == 10
    spoiled = [{**row, "parasites": 1} for row in rows]
    assert found.reduce(spoiled).verdict is Verdict.NOT_AS_CLAIMED
