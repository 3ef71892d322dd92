"""path-fig5-sparse: held to what all figures about overhead are."""

from __future__ import annotations

from tests.lab.experiments.overhead import OverheadFigure


class TestPathFig5Sparse(OverheadFigure):
    id = "path-fig5-sparse"
