"""How the lab's pictures look, and how one is saved.

Owns: style, the line with a band, the file. Must not know: any experiment. matplotlib is imported inside the functions,
and without a display: figures are made by hand and never by ``pyplot``, which keeps them in a global list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reknit.lab.reduce import Estimate

__all__ = [
    "INK",
    "PALETTE",
    "as_percent",
    "band",
    "dress",
    "log_numbers",
    "new_figure",
    "remark",
    "save_figure",
    "shades",
]

DPI = 150
INK = "#22272e"
FAINT = "#d8dde3"
PALETTE = ("#1b6ca8", "#e07a1f", "#3a9d5d", "#b8437a", "#6b5fb5", "#8a6d3b")
"""Colours that stay apart for most colour-blind readers, in the order of use."""

REMARK_IN = 0.2
"""The height of a line below the panels, in inches."""


def new_figure(width: float, height: float, title: str, subtitle: str = "") -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(rect=(0.0, 0.0, 1.0, 0.915), w_pad=0.08, h_pad=0.08)
    figure = Figure(figsize=(width, height), layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    figure.text(0.012, 0.982, title, fontsize=15, fontweight="bold", color=INK, va="top")
    figure.text(0.012, 0.938, subtitle, fontsize=10, color=INK, alpha=0.8, va="top")
    return figure


def remark(figure: Any, lines: Sequence[str]) -> None:
    """Lines below the panels, for which the figure grows."""
    height = figure.get_figheight()
    added = REMARK_IN * (len(lines) + 1)
    figure.set_figheight(height + added)
    foot = added / (height + added)
    x, _, width, top = figure.get_layout_engine().get()["rect"]
    figure.get_layout_engine().set(rect=(x, foot, width, top - foot))
    for place, line in enumerate(lines):
        at = foot - REMARK_IN * (place + 0.5) / (height + added)
        figure.text(0.012, at, line, fontsize=9, color=INK, va="top")


def dress(axes: Any, title: str, x: str, y: str) -> None:
    """A title on the left, labels, a faint grid, and no box around it."""
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK)
    axes.set_xlabel(x, color=INK)
    axes.set_ylabel(y, color=INK)
    axes.tick_params(colors=INK, which="both", labelsize=9)
    axes.grid(True, which="major", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)


def band(axes: Any, curve: Mapping[float, Estimate], colour: Any, **style: Any) -> None:
    """A curve through the means, and the band of their bounds."""
    places = sorted(curve)
    axes.fill_between(
        places,
        [curve[x].low for x in places],
        [curve[x].high for x in places],
        color=colour,
        alpha=0.18,
        linewidth=0,
    )
    axes.plot(places, [curve[x].mean for x in places], color=colour, **style)


def as_percent(axes: Any, places: Sequence[float]) -> None:
    """A logarithmic x axis of shares, with these ticks."""
    axes.set_xscale("log")
    axes.set_xticks(list(places), [f"{100 * place:g} %" for place in places])
    axes.set_xlim(min(places) / 1.2, max(places) * 1.2)
    axes.minorticks_off()


def log_numbers(axes: Any) -> None:
    """A logarithmic y axis whose ticks are plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="y", which="minor", left=False)


def shades(count: int) -> list[Any]:
    """One colour for each of an ordered row of things, from light to dark."""
    from matplotlib import colormaps

    scale = colormaps["viridis_r"]
    return [scale(0.25 + 0.7 * place / max(1, count - 1)) for place in range(count)]


def save_figure(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=DPI, metadata={"Software": "reknit"})
