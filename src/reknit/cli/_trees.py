"""Trees as pictures: brokers in a circle, each at the same place whatever the links, and links as wide as their load.

Owns: how a tree looks. Must not know: where the numbers are from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reknit.core.overlay.shapes import Edge

__all__ = ["Picture", "draw", "numbers_at"]

_INCHES = 4.6
_DPI = 110
_WIDTH_MAX = 9.0
_OLD, _NEW = "#8d99ae", "#2a9d8f"
_ALONG = (0.5, 0.34, 0.66, 0.25, 0.75, 0.42, 0.58)
"""Where on its link a number may stand; the first place that is free."""
_APART_MIN = 0.2
"""Between two numbers; the circle has a radius of 1."""
_SHORT_MAX = 1.2
"""A longer link has no number in its middle: that is where it is crossed by others."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One tree. ``loads``: by link, how many events have crossed it; without them all links look alike."""

    title: str
    links: Sequence[Edge]
    loads: Mapping[Edge, int] = field(default_factory=dict)


def draw(pictures: Sequence[Picture], path: str | Any) -> None:
    """Side by side; a link that the first one has not is green. The same input gives the same bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_INCHES * len(pictures), _INCHES), layout="constrained")
    FigureCanvasAgg(figure)
    places = _places(sorted({name for picture in pictures for link in picture.links for name in link}))
    most = max((load for picture in pictures for load in picture.loads.values()), default=0)
    for number, picture in enumerate(pictures, 1):
        axes = figure.add_subplot(1, len(pictures), number)
        _draw_one(axes, picture, places, most, pictures[0].links)
    figure.savefig(path, dpi=_DPI, metadata={"Software": None}, format="png")


def _places(brokers: Sequence[str]) -> dict[str, tuple[float, float]]:
    angles = {name: math.pi / 2 - 2 * math.pi * place / len(brokers) for place, name in enumerate(brokers)}
    return {name: (math.cos(angle), math.sin(angle)) for name, angle in angles.items()}


def numbers_at(links: Sequence[Edge], places: Mapping[str, tuple[float, float]]) -> list[tuple[float, float]]:
    """By link, a point of it for its number; those of links that cross do not hide each other."""
    taken: list[tuple[float, float]] = []
    for one, other in links:
        (x0, y0), (x1, y1) = places[one], places[other]
        along = _ALONG if math.dist(places[one], places[other]) <= _SHORT_MAX else _ALONG[1:]
        points = [(x0 + part * (x1 - x0), y0 + part * (y1 - y0)) for part in along]
        free = [point for point in points if all(math.dist(point, each) >= _APART_MIN for each in taken)]
        taken.append((free or points)[0])
    return taken


def _draw_one(
    axes: Any, picture: Picture, places: Mapping[str, tuple[float, float]], most: int, old: Sequence[Edge]
) -> None:
    known = [set(link) for link in old]
    for link, (x, y) in zip(picture.links, numbers_at(picture.links, places), strict=True):
        (x0, y0), (x1, y1) = places[link[0]], places[link[1]]
        load = picture.loads.get(link, picture.loads.get(link[::-1], 0))
        width = 1.0 + (_WIDTH_MAX - 1.0) * load / most if most else 2.0
        axes.plot([x0, x1], [y0, y1], color=_OLD if set(link) in known else _NEW, linewidth=width, zorder=1)
        if most:
            paper = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.8}
            axes.text(x, y, f"{load:,}", ha="center", va="center", fontsize=8, zorder=3, bbox=paper)
    for name, (x, y) in places.items():
        axes.scatter([x], [y], s=420, color="#1d3557", zorder=2)
        axes.text(x, y, name, ha="center", va="center", color="white", fontsize=9, zorder=3)
    axes.set_title(picture.title, fontsize=11)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.margins(0.15)
