"""One system under one model: the same users for all, and what each part is for."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from reknit.lab.contest import Contest, System, run_contest
from reknit.planning.counts import compiled_is_there
from tests.pipeline.places import DATA, needs_data

POISSON = Contest("DYNATOPS", users=1500, brokers=30, topics=100, modes=10, hours=8, free_h=4, cluster=5, events=40.0)
LOCATION = Contest("DYNATOPS", "location", users=300, cell=4, hours=96, step_h=12.0, update_h=12.0, free_h=12.0)


@pytest.mark.parametrize("base", [POISSON, LOCATION], ids=["poisson", "location"])
def test_every_system_has_the_same_users(base: Contest) -> None:
    placed_alike = ("Bayeux (static)", "TCO", "CHash", "DYNATOPS (BNR)")
    found = {}
    for system in get_args(System):
        if system in (("TCO",) if base.model == "location" else ("GeoPS", "Bayeux (loc)", "Bayeux (loc+PNS)")):
            continue
        found[system] = run_contest(msgspec.structs.replace(base, system=system), "7")
    assert len({each["published"] for each in found.values()}) == 1
    assert all(found[system]["handovers"] == 0 for system in placed_alike if system in found)
    assert found["DYNATOPS (UP)"]["changes"] == found["DYNATOPS"]["changes"]
    assert found["DYNATOPS (UP)"]["reconfigurations"] == found["CHash"]["reconfigurations"] == 0
    assert all(each["overhead"] > 0 and each["delay"] > 0 for each in found.values())


@pytest.mark.skipif(not compiled_is_there(), reason="numba, of the extra `plan`, is not installed")
def test_plans_that_know_round_trips_bring_shorter_delays() -> None:
    many = msgspec.structs.replace(LOCATION, users=1500, hours=192, cluster=5, load_weight=0.0)
    systems = ("DYNATOPS", "DYNATOPS (trips)", "DYNATOPS (UP)")
    equal, far, still = (run_contest(msgspec.structs.replace(many, system=each), "0") for each in systems)
    assert far["delay"] < 0.95 * equal["delay"] < equal["delay"] < still["delay"]
    assert far["reconfigurations"] > 0


def test_the_same_seed_gives_the_same_row() -> None:
    assert run_contest(POISSON, "1") == run_contest(POISSON, "1") != run_contest(POISSON, "2")


@needs_data
def test_real_check_ins_will_do() -> None:
    path = str(DATA / "gowalla_popular_checkins.parquet")
    found = run_contest(msgspec.structs.replace(LOCATION, checkins=path, hours=240), "1")
    assert found["published"] > 1000
    assert found["handovers"] > 0
