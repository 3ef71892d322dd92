"""Experiments are found by their ids, and can be read without running anything."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from reknit.lab.experiment import Scale
from reknit.lab.registry import UnknownExperiment, all_experiments, find_experiments


def test_every_experiment_says_what_it_is_about() -> None:
    assert list(all_experiments()) == sorted(all_experiments())
    for name, each in all_experiments().items():
        assert name == each.id
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        assert all((each.paper, each.figure, each.claim, each.published))
        for scale in Scale:
            points = each.points(scale)
            assert points
            assert each.seeds[scale] > 0
            assert all(point.keys() == points[0].keys() for point in points)


def test_found_once_in_the_order_asked_for() -> None:
    assert [each.id for each in find_experiments(["forwarding-vs-flooding"] * 2)] == ["forwarding-vs-flooding"]


def test_an_unknown_one_names_the_known() -> None:
    with pytest.raises(UnknownExperiment, match=r"'nothing'; there are: .*forwarding-vs-flooding"):
        find_experiments(["forwarding-vs-flooding", "nothing"])


def test_reading_the_list_loads_no_plotting() -> None:
    code = "import sys, reknit.lab.registry as r; r.all_experiments(); sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
