"""camcast-table2: parasites of plain gossip are the paper's within 1 %, and communities have none."""

from __future__ import annotations

from reknit.lab.experiment import Row, Verdict
from reknit.lab.experiments._camcast_tables import HIERARCHIES
from reknit.lab.experiments.camcast_table2 import GOSSIP, PMCAST
from tests.lab.experiments.small import experiment

ID = "camcast-table2"


def a_row(name: str, factor: float = 1.0, parasites: int = 0, pmcast: int | None = None) -> Row:
    row: Row = {"hierarchy": name, "seed": 0, "parasites": parasites, "plain_parasites": factor * GOSSIP[name]}
    return row | {"pmcast_parasites": PMCAST[name] if pmcast is None else pmcast}


def test_within_a_hundredth_and_with_none_of_its_own_it_is_as_claimed() -> None:
    for factor, parasites, verdict in (
        (1.009, 0, Verdict.AS_CLAIMED),
        (1.011, 0, Verdict.NOT_AS_CLAIMED),
        (1.0, 1, Verdict.NOT_AS_CLAIMED),
    ):
        findings = experiment(ID).reduce([a_row(name, factor, parasites) for name in HIERARCHIES])
        assert findings.verdict is verdict
        assert experiment(ID).published.keys() <= findings.measured.keys()


def test_pmcast_has_a_row_and_parasites() -> None:
    findings = experiment(ID).reduce([a_row(name) for name in HIERARCHIES])
    assert [findings.measured[f"PMcast, {name}"].value for name in HIERARCHIES] == [453, 369, 615]
    none = experiment(ID).reduce([a_row(name, pmcast=0) for name in HIERARCHIES])
    assert none.verdict is Verdict.NOT_AS_CLAIMED
    row = experiment(ID).measure({"hierarchy": "100 (j = 2)"}, 0)
    assert 10 < int(row["pmcast_parasites"]) < float(row["plain_parasites"])


def test_plain_gossip_of_300_has_the_parasites_of_the_table() -> None:
    rows = [experiment(ID).measure({"hierarchy": "100 (j = 2)"}, seed) for seed in range(3)]
    mean = sum(float(row["plain_parasites"]) for row in rows) / 3
    assert abs(mean - GOSSIP["100 (j = 2)"]) < 0.04 * GOSSIP["100 (j = 2)"]
    assert not any(row["parasites"] for row in rows)


def test_it_can_be_drawn() -> None:
    [axes] = experiment(ID).plot([a_row(name) for name in HIERARCHIES]).axes
    assert len(axes.patches) == 2 * len(HIERARCHIES)
