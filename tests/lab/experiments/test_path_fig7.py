"""path-fig7: fewer events are misrouted along the path than with deferred unsubscriptions."""

from __future__ import annotations

from reknit.lab.experiment import Verdict
from reknit.lab.reduce import group
from tests.lab.experiments.small import experiment, rows

ID = "path-fig7"


def test_path_misroutes_fewer_events_than_deferred() -> None:
    findings = experiment(ID).reduce(rows(ID))
    assert findings.verdict is Verdict.AS_CLAIMED
    assert findings.measured["path"].value < findings.measured["deferred"].value


def test_where_the_strawman_misroutes_less_is_named() -> None:
    """It tears down at once what leads to the lost link; the paper does not compare the two."""
    measured = experiment(ID).reduce(rows(ID)).measured
    behind = [name for name in measured if name.startswith("path is not ahead of strawman: ")]
    costs = group(rows(ID), "shape", "patterns", "brokers", "strategy")
    settings = [key[:3] for key in costs if key[3] == "path"]
    assert behind == [
        f"path is not ahead of strawman: {shape} trees of {brokers}, {patterns} patterns"
        for shape, patterns, brokers in settings
        if sum(float(row["misrouted"]) for row in costs[shape, patterns, brokers, "path"])
        >= sum(float(row["misrouted"]) for row in costs[shape, patterns, brokers, "strawman"])
    ]
    assert behind
    assert not any(name.startswith("path is not ahead of deferred: ") for name in measured)


def test_what_the_next_link_would_need_is_not_obsolete() -> None:
    assert all(float(row["obsolete"]) <= float(row["misrouted"]) for row in rows(ID))
    assert any(float(row["obsolete"]) < float(row["misrouted"]) for row in rows(ID))


def test_rows_that_say_otherwise_are_not_as_claimed() -> None:
    turned = [{**row, "misrouted": 0 if row["strategy"] == "deferred" else row["misrouted"]} for row in rows(ID)]
    assert experiment(ID).reduce(turned).verdict is Verdict.NOT_AS_CLAIMED


def test_it_can_be_drawn() -> None:
    assert len(experiment(ID).plot(rows(ID)).axes) == 4
