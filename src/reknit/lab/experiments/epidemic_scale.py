"""EPIDEMIC, sections 2.2 and 5: gossip puts a constant load on each broker, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reknit.lab.experiment import Experiment, Scale
from reknit.lab.experiments._epidemic import PULLS, Curves, figure_of

__all__ = ["EXPERIMENT"]

VALUES: Final = {Scale.QUICK: (10, 30), Scale.PAPER: (50, 100, 150, 200)}


GROWTH_MAX: Final = 1.5
"""From the smallest network to the largest: less counts as constant. The paper draws it flat, and gives no number."""


def _growth(curves: Curves, column: str, name: str) -> float:
    curve = curves[column][name]
    return curve[max(curve)] / curve[min(curve)]


def constant(curves: Curves) -> bool:
    return all(_growth(curves, "overhead", name) < GROWTH_MAX for name in ("push", *PULLS))


def constant_with_auto(curves: Curves) -> bool:
    return _growth(curves, "overhead", "auto") < GROWTH_MAX


def constant_for_each(curves: Curves) -> bool:
    return all(_growth(curves, "per_broker_s", name) < GROWTH_MAX for name in ("push", *PULLS, "auto"))


def works(curves: Curves) -> bool:
    delivered, most = curves["delivered"], max(curves["delivered"]["none"])
    return all(delivered[name][most] > delivered["none"][most] for name in ("push", *PULLS))


def auto_too(curves: Curves) -> bool:
    messages = curves["messages"]["auto"]
    return messages[max(messages)] <= 1.1 * messages[min(messages)]


CLAIMS: Final[Mapping[str, Callable[[Curves], bool]]] = {
    "the overhead grows by less than a half": constant,
    "that of auto, too": constant_with_auto,
    "what each broker says in a second grows by less than a half, also with auto": constant_for_each,
    "every algorithm delivers more than none in the largest network": works,
    "what comes back costs auto no more in a larger network": auto_too,
}

EXPERIMENT: Final[Experiment] = figure_of(
    "epidemic-scale",
    "section 5",
    "The overhead of each algorithm does not grow with the network.",
    "brokers",
    VALUES,
    CLAIMS,
    "Lost events come back, by the number of brokers",
)
