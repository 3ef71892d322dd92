"""path-fig7: fewer events are misrouted along the path than with deferred unsubscriptions."""

from __future__ import annotations

from reknit.lab.experiment import Verdict
from tests.lab.experiments.small import experiment, rows

ID = "path-fig7"


def test_path_misroutes_fewer_events_than_deferred() -> None:
    findings = experiment(ID).reduce(rows(ID))
    assert findings.verdict is Verdict.AS_CLAIMED
    assert findings.measured["path"].value < findings.measured["deferred"].value


def test_what_the_next_link_would_need_is_not_obsolete() -> None:
    assert all(float(row["obsolete"]) <= float(row["misrouted"]) for row in rows(ID))
    assert any(float(row["obsolete"]) < float(row["misrouted"]) for row in rows(ID))


def test_rows_that_say_otherwise_are_not_as_claimed() -> None:
    turned = [{**row, "misrouted": 0 if row["strategy"] == "deferred" else row["misrouted"]} for row in rows(ID)]
    assert experiment(ID).reduce(turned).verdict is Verdict.NOT_AS_CLAIMED


def test_it_can_be_drawn() -> None:
    assert len(experiment(ID).plot(rows(ID)).axes) == 4
