"""path-fig5-dense: held to what all figures about overhead are."""

from __future__ import annotations

from tests.lab.experiments.overhead import OverheadFigure


class TestPathFig5Dense(OverheadFigure):
    id = "path-fig5-dense"
