"""One quantity of SWAP's figures against one parameter: a line for each routing and each number of kinds.

Owns: how such lines are told apart, found and drawn. Must not know: what they should look like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from reknit.lab import plot
from reknit.lab.experiment import Measured, Rows
from reknit.lab.experiments._swap import measured
from reknit.lab.reduce import group, numbers, spread

__all__ = ["draw_lines", "line_name", "lines", "values"]

_MARKERS: Final = "osv^D"


def lines(rows: Rows) -> Mapping[tuple[str, int], Rows]:
    """By routing and kinds."""
    return {(str(routing), int(kinds)): some for (routing, kinds), some in group(rows, "routing", "kinds").items()}


def line_name(key: tuple[str, int]) -> str:
    return f"{key[0]}, {key[1]} kinds"


def values(rows: Rows, parameter: str, column: str, divisor: float, unit: str) -> Iterator[tuple[str, Measured]]:
    """One for each place of each line."""
    for key, line in lines(rows).items():
        for (value,), some in group(line, parameter).items():
            yield f"{line_name(key)}: {value} {parameter}", measured(some, column, divisor, unit)


def draw_lines(rows: Rows, title: str, parameter: str, x: str, column: str, y: str) -> Any:
    subtitle = f"by {x}; mean and extremes over seeds ({len(group(rows, 'seed'))})"
    figure = plot.new_figure(9.5, 6.0, title, subtitle)
    axes = figure.subplots()
    plot.dress(axes, "", x, y)
    for number, (key, line) in enumerate(lines(rows).items()):
        curve = {float(str(value)): spread(numbers(some, column)) for (value,), some in group(line, parameter).items()}
        style = {"marker": _MARKERS[number % len(_MARKERS)], "markersize": 5, "linewidth": 1.8}
        plot.band(axes, curve, plot.PALETTE[number % len(plot.PALETTE)], label=line_name(key), **style)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=1.0)
    axes.set_ylim(bottom=0.0)
    axes.legend(frameon=False, fontsize=9)
    return figure
