"""camcast-fig27: rows for which the claim holds are judged so, and others are not. Made up: see test_gathered.py."""

from __future__ import annotations

from tests.lab.experiments.camcast_live import check_live_figure


def test_the_figure() -> None:
    check_live_figure("camcast-fig27")
