"""camcast-table1: rounds, by hierarchy."""

from __future__ import annotations

from reknit.lab.experiment import Row, Verdict
from reknit.lab.experiments._camcast_tables import HIERARCHIES
from reknit.lab.experiments.camcast_table1 import CAMCAST, GOSSIP, PMCAST
from tests.lab.experiments.small import experiment

ID = "camcast-table1"


def a_row(name: str, rounds: float) -> Row:
    return {"hierarchy": name, "seed": 0, "rounds": rounds, "reached_root": True, "parasites": 0} | {
        "plain_rounds": GOSSIP[name],
        "plain_parasites": 0,
        "pmcast_rounds": PMCAST[name],
    }


def test_as_claimed_near_the_papers_rounds_and_not_far_from_them() -> None:
    near = [a_row(name, CAMCAST[name] + 1.0) for name in HIERARCHIES]
    findings = experiment(ID).reduce(near)
    assert findings.verdict is Verdict.AS_CLAIMED
    assert experiment(ID).published.keys() <= findings.measured.keys()
    far = [a_row(name, CAMCAST[name] + 1.5) for name in HIERARCHIES]
    assert experiment(ID).reduce(far).verdict is Verdict.NOT_AS_CLAIMED


def test_runs_that_do_not_reach_the_root_have_no_rounds() -> None:
    rows = [a_row(name, CAMCAST[name]) for name in HIERARCHIES]
    rows += [{**row, "seed": 1, "rounds": 1, "reached_root": False} for row in rows]
    findings = experiment(ID).reduce(rows)
    assert findings.verdict is Verdict.AS_CLAIMED
    assert findings.measured["reached the root, 100 (j = 2)"].value == 50.0


def test_one_real_event_in_the_smallest_hierarchy() -> None:
    row = experiment(ID).measure({"hierarchy": "100 (j = 2)"}, 1)
    assert row["parasites"] == 0
    assert 4 <= int(row["rounds"]) <= 15
    assert 3 <= int(row["plain_rounds"]) <= 7
    assert 3 <= int(row["pmcast_rounds"]) <= 12


def test_it_can_be_drawn() -> None:
    [axes] = experiment(ID).plot([a_row(name, 9.0) for name in HIERARCHIES]).axes
    assert len(axes.patches) == 3 * len(HIERARCHIES)
