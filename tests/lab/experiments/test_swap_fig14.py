"""swap-fig14: growing with the network, and ever less so; never a published number."""

from __future__ import annotations

import pytest

from reknit.lab.experiment import Scale, Verdict
from tests.lab.experiments.quick import experiment, quick_rows

ID = "swap-fig14"


@pytest.mark.long
def test_tables_grow_with_the_network_and_ever_less_so() -> None:
    assert experiment(ID).reduce(quick_rows(ID)).verdict is Verdict.AS_CLAIMED


def test_what_does_not_grow_or_does_not_flatten_is_not_as_claimed() -> None:
    for factor in (100.0, -1.0):
        rows = [{**row, "tables_bytes": 1000.0 + factor * float(row["brokers"])} for row in quick_rows(ID)]
        assert experiment(ID).reduce(rows).verdict is Verdict.NOT_AS_CLAIMED


def test_nor_is_what_grows_and_then_falls_as_steeply() -> None:
    bytes_of = {6: 1000.0, 20: 1500.0, 80: 0.0}
    rows = [{**row, "tables_bytes": bytes_of[int(row["brokers"])]} for row in quick_rows(ID)]
    assert experiment(ID).reduce(rows).verdict is Verdict.NOT_AS_CLAIMED


def test_clients_are_as_many_as_brokers_at_every_size() -> None:
    points = experiment(ID).points(Scale.PAPER)
    assert max(int(point["brokers"]) for point in points) == 400
    assert len({tuple(point.items()) for point in points}) == len(points)


def test_it_can_be_drawn() -> None:
    [axes] = experiment(ID).plot(quick_rows(ID)).axes
    assert len(axes.lines) == 1
