"""An experiment as data: what is claimed, where to look, how to measure it, and when the claim holds.

A *point* is one setting of the parameters. Measuring a point with a seed gives one *row*: the point, the seed, and what
was counted. The same point and seed give the same row, whatever else runs. From all rows follow the *findings*: the
measured quantities and a verdict. Nothing happens when an experiment is made, so a list of them can be read at once.

Owns: the shape of an experiment and of its results. Must not know: any experiment, the simulator, files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

__all__ = [
    "Cell",
    "Experiment",
    "Findings",
    "Measured",
    "Point",
    "Published",
    "Row",
    "Rows",
    "Scale",
    "Verdict",
]

Cell: TypeAlias = str | int | float | bool
Point: TypeAlias = Mapping[str, Cell]
Row: TypeAlias = dict[str, Cell]
Rows: TypeAlias = Sequence[Row]


class Scale(StrEnum):
    QUICK = "quick"
    """A few small points: does the claim hold at all? Seconds."""
    PAPER = "paper"
    """The sizes that the claim is about. Minutes to hours."""


class Verdict(StrEnum):
    AS_CLAIMED = "as claimed"
    NOT_AS_CLAIMED = "not as claimed"


class Published(msgspec.Struct, frozen=True):
    """One quantity as the paper has it."""

    value: float | None
    """None where the paper gives no number."""
    unit: str = ""
    note: str = ""
    """Where the number stands, or what the claim implies where there is none."""


class Measured(msgspec.Struct, frozen=True):
    """The same quantity as it came out; ``low`` and ``high`` bound it where it was estimated from seeds."""

    value: float
    unit: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    measured: Mapping[str, Measured]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Experiment:
    id: str
    paper: str
    figure: str
    """Or the section, where the claim is made in words."""
    claim: str
    published: Mapping[str, Published]
    seeds: Mapping[Scale, int]
    """How many seeds each point gets unless the user says otherwise."""
    points: Callable[[Scale], list[Point]]
    measure: Callable[[Point, int], Row]
    """From a point and a seed to what was counted. A function of a module, so that another process can find it."""
    reduce: Callable[[Rows], Findings]
    plot: Callable[[Rows], Any]
    """A matplotlib figure. It imports matplotlib itself, so that reading the list of experiments stays quick."""
