"""camcast-fig14: as claimed at quick scale, without parasites; and not as claimed where it does not hold."""

from __future__ import annotations

from tests.lab.experiments.camcast import check_figure


def test_the_figure() -> None:
    check_figure("camcast-fig14")
