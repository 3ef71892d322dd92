"""EPIDEMIC, section 5: the gossip interval trades overhead for delivery."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reknit.lab.experiment import Experiment, Scale
from reknit.lab.experiments._epidemic import PULLS, Curves, figure_of

__all__ = ["EXPERIMENT"]

VALUES: Final = {Scale.QUICK: (0.03, 0.3), Scale.PAPER: (0.01, 0.02, 0.03, 0.04, 0.055)}


def _is_sooner(curves: Curves, name: str) -> bool:
    return _gain(curves, name) > 0


def _gain(curves: Curves, name: str) -> float:
    late = curves["latency_s"][name]
    return late[max(late)] - late[min(late)]


def costs_more(curves: Curves) -> bool:
    overhead = curves["overhead"]["push"]
    return overhead[min(overhead)] > overhead[max(overhead)]


def is_sooner(curves: Curves) -> bool:
    return all(_is_sooner(curves, name) for name in ("push", *PULLS))


def push_gains(curves: Curves) -> bool:
    return all(_gain(curves, "push") > _gain(curves, name) for name in PULLS)


CLAIMS: Final[Mapping[str, Callable[[Curves], bool]]] = {
    "a shorter interval of push costs more": costs_more,
    "it brings events back sooner": is_sooner,
    "push gains more time by it than the pulls do": push_gains,
}

EXPERIMENT: Final[Experiment] = figure_of(
    "epidemic-interval",
    "section 5",
    "A shorter interval costs more messages, and brings events back sooner; push gains most.",
    "gossip_s",
    VALUES,
    CLAIMS,
    "Lost events come back, by the interval of gossip",
)
