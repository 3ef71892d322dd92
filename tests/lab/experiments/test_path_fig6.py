"""path-fig6: held to what all figures about overhead are."""

from __future__ import annotations

from tests.lab.experiments.overhead import OverheadFigure


class TestPathFig6(OverheadFigure):
    id = "path-fig6"
