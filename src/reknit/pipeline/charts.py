"""Small tables as pictures.

Owns: how a chart looks. Must not know: Spark, or what the numbers mean.
"""

from __future__ import annotations

from collections.abc import Sequence

from reknit.pipeline.flow import Bars

__all__ = ["draw"]

_INCHES = (7.0, 4.0)
_DPI = 120
LABELLED_MAX = 12
"""Bars that have room for their names and numbers; of more, some are named, and none has its number."""
TICKS = 8


def draw(chart: Bars, rows: Sequence[tuple[str, float]], path: str) -> None:
    """One bar for each row, in their order; the same rows give the same bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    bars = axes.bar([label for label, _ in rows], [value for _, value in rows], color="#33658a")
    if len(rows) <= LABELLED_MAX:
        axes.bar_label(bars, labels=[f"{value:,.0f}" for _, value in rows], padding=2)
    else:
        apart = -(-len(rows) // TICKS)
        axes.set_xticks(range(0, len(rows), apart), [label for label, _ in rows[::apart]], rotation=30, ha="right")
    axes.set_title(chart.title)
    axes.set_xlabel(chart.label)
    axes.set_ylabel(chart.value)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=_DPI, metadata={"Software": None})
