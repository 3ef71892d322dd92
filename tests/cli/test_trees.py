"""Numbers of links that cross in one point can be read; the same tree gives the same picture."""

from __future__ import annotations

import io
import math
from itertools import combinations

import pytest

from reknit.cli._trees import Picture, _places, draw, numbers_at

LINE = [(f"b{number}", f"b{number + 1}") for number in range(1, 8)]
ACROSS = [*((f"b{number}", f"b{number + 4}") for number in range(1, 5)), ("b5", "b6"), ("b5", "b7"), ("b5", "b8")]
"""Of eight brokers in a circle, four links meet in the middle."""


def test_numbers_do_not_hide_each_other() -> None:
    places = _places([f"b{number}" for number in range(1, 9)])
    for links in (LINE, ACROSS):
        points = numbers_at(links, places)
        assert all(math.dist(one, other) >= 0.2 for one, other in combinations(points, 2))
    alone = numbers_at(LINE[:1], places)[0]
    assert math.dist(alone, places["b1"]) == pytest.approx(math.dist(alone, places["b2"]))


def test_the_same_tree_gives_the_same_picture() -> None:
    pictures = [Picture(str(len(links)), links, dict.fromkeys(links, 7)) for links in (LINE, ACROSS)]
    drawn = []
    for _ in range(2):
        file = io.BytesIO()
        draw(pictures, file)
        drawn.append(file.getvalue())
    assert drawn[0] == drawn[1]
