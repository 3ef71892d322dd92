"""What all figures of CAMCAST's simulations are held to."""

from __future__ import annotations

from functools import cache

from reknit.lab.experiment import Row, Scale, Verdict
from tests.lab.experiments.small import experiment

SEEDS = 4


@cache
def _rows(weak: bool) -> tuple[Row, ...]:
    """Measured once for all figures, since they differ in what they show of it only."""
    found = experiment("camcast-fig17" if weak else "camcast-fig15")
    points = found.points(Scale.QUICK)
    return tuple({**point, "seed": seed, **found.measure(point, seed)} for point in points for seed in range(SEEDS))


def rows_of(id_: str) -> list[Row]:
    return [dict(row) for row in _rows(id_ in ("camcast-fig17", "camcast-fig18"))]


def check_figure(id_: str) -> None:
    """It has what was published, it can be drawn, and one parasite is enough against it."""
    found, rows = experiment(id_), rows_of(id_)
    findings = found.reduce(rows)
    assert findings.verdict is Verdict.AS_CLAIMED
    assert found.published.keys() <= findings.measured.keys()
    assert findings.measured["parasite events"].value == 0
    [axes] = found.plot(rows).axes
    labels = [str(line.get_label()) for line in axes.lines]
    plain = ["plain gossip, all"] if id_ in ("camcast-fig15", "camcast-fig17") else []
    assert labels[len(labels) - len(plain) :] == plain
    assert len(labels) - len(plain) in (2, 3)
    spoiled = [{**row, "parasites": 1} for row in rows]
    assert found.reduce(spoiled).verdict is Verdict.NOT_AS_CLAIMED
    nothing = [
        {**row, **{column: 0 if "reached" in column or "upward" in column else 10**6 for column in _counts(row)}}
        for row in rows
    ]
    worse = [
        one if row["failed"] == 0.0 and id_ in ("camcast-fig15", "camcast-fig17") else bad
        for row, one, bad in zip(rows, rows, nothing, strict=True)
    ]
    assert found.reduce(worse).verdict is Verdict.NOT_AS_CLAIMED


def _counts(row: Row) -> list[str]:
    return [column for column in row if column.partition("_")[0] in ("reached", "upward", "inside")]
