"""Small tables as pictures.

Owns: how a chart looks. Must not know: Spark, or what the numbers mean.
"""

from __future__ import annotations

from collections.abc import Sequence

from reknit.pipeline.flow import Bars

__all__ = ["draw"]

_INCHES = (7.0, 4.0)
_DPI = 120


def draw(chart: Bars, rows: Sequence[tuple[str, float]], path: str) -> None:
    """One bar for each row, in their order; the same rows give the same bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    bars = axes.bar([label for label, _ in rows], [value for _, value in rows], color="#33658a")
    axes.bar_label(bars, labels=[f"{value:,.0f}" for _, value in rows], padding=2)
    axes.set_title(chart.title)
    axes.set_xlabel(chart.label)
    axes.set_ylabel(chart.value)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=_DPI, metadata={"Software": None})
