"""What all figures of CAMCAST's implementation are held to."""

from __future__ import annotations

from functools import cache

from reknit.lab.experiment import Row, Scale, Verdict
from reknit.lab.experiments._camcast_live import FORWARDERS, LETTERS, MEMBERSHIPS, QUICK_PROBABILITIES, points
from reknit.lab.gathered import Level
from tests.lab.experiments.small import experiment


@cache
def rows() -> tuple[Row, ...]:
    """As a gathering might give them. Made up: real ones, which take long, are in ``tests/lab/test_gathered.py``."""
    found = []
    for point in points(Scale.QUICK):
        row: Row = {**point, "seed": 0, "parasites": 0, "settled": True}
        for at in QUICK_PROBABILITIES:
            for letter in LETTERS:
                level = Level(8, min(1.0, 0.4 + at), min(1.0, at), 0.8 - 0.6 * at, 6.0 - 2 * at, 16.0 * at)
                for name in Level.__dataclass_fields__:
                    row[f"{letter}_{name}_{at:g}"] = getattr(level, name)
        found.append({**row, "d_headline": 1.0, "a_headline": 1.0, "forwarding": 0.07})
    return tuple(found)


def check_live_figure(id_: str) -> None:
    """It has what was published, it can be drawn, and one parasite is enough against it; so is no delivery at all."""
    found = experiment(id_)
    measured = [dict(row) for row in rows()]
    findings = found.reduce(measured)
    assert findings.verdict is Verdict.AS_CLAIMED
    assert found.published.keys() <= findings.measured.keys()
    assert findings.measured["parasite events"].value == 0
    [axes] = found.plot(measured).axes
    assert len(axes.lines) == len(MEMBERSHIPS)
    spoiled = [{**row, "parasites": 1} for row in measured]
    assert found.reduce(spoiled).verdict is Verdict.NOT_AS_CLAIMED
    bad = [{**row, **{name: _worst(name) for name in row if name[:2] in ("d_", "a_")}} for row in measured]
    assert found.reduce(bad).verdict is Verdict.NOT_AS_CLAIMED
    assert round(sum(FORWARDERS)) == 8


def _worst(name: str) -> float:
    """Nothing arrives, and the more members pass events upward, the fewer messages there are, and the fewer copies."""
    column, _, at = name[2:].partition("_")
    if column == "efficiency":
        return float(at)
    return -float(at) if column == "upward" else 0.0
