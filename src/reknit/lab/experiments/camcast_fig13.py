"""CAMCAST, Figure 13: events sent in each community, by the share of processes that have failed."""

from __future__ import annotations

from math import log
from typing import Final

from reknit.lab.experiment import Published, Rows
from reknit.lab.experiments._camcast import LEVELS, Figure, column
from reknit.lab.reduce import numbers

__all__ = ["EXPERIMENT"]


def holds(rows: Rows) -> bool:
    """Nowhere more than ``N (ln N + c)`` for those who live."""
    return all(
        max(numbers([row], f"inside_{letter}")) <= float(row[f"alive_{letter}"]) * (log(_size(row, letter)) + 5.0)
        for row in rows
        for letter in LEVELS
    )


def _size(row: dict[str, str | int | float | bool], letter: str) -> float:
    return float(row[{"a": "root", "d": "middle", "g": "bottom"}[letter]])


EXPERIMENT: Final = Figure(
    id="camcast-fig13",
    figure="Figure 13",
    claim="The number of events sent in a community is of the order of N ln N.",
    title="Events sent in each community",
    unit="messages",
    letters=LEVELS,
    value=column("inside"),
    holds=holds,
    published={"g, 0 % failed": Published(None, "messages", "a curve; 1,000 (ln 1,000 + 5) = 11,908 bounds it")},
    logarithmic=True,
).experiment()
