"""EPIDEMIC, section 5: many patterns are hard for push, which offers one of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reknit.lab.experiment import Experiment, Scale
from reknit.lab.experiments._epidemic import Curves, figure_of

__all__ = ["EXPERIMENT"]

VALUES: Final = {Scale.QUICK: (4, 40), Scale.PAPER: (10, 35, 70, 96)}


def push_slows(curves: Curves) -> bool:
    late = curves["latency_s"]["push"]
    return late[max(late)] > late[min(late)]


def pulls_do_not(curves: Curves) -> bool:
    late, other = curves["latency_s"]["push"], curves["latency_s"]["publisher-pull"]
    return late[max(late)] - late[min(late)] > other[max(other)] - other[min(other)]


CLAIMS: Final[Mapping[str, Callable[[Curves], bool]]] = {
    "push takes longer with more patterns": push_slows,
    "it slows down by more than the publisher pull does": pulls_do_not,
}

EXPERIMENT: Final[Experiment] = figure_of(
    "epidemic-patterns",
    "section 5",
    "The more patterns, the longer it takes push to bring an event back; pulls hardly suffer.",
    "patterns",
    VALUES,
    CLAIMS,
    "Lost events come back, by the number of patterns",
)
