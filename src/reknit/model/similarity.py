"""What a broker is worth to a user: how alike both are, by the topics that both want, less the broker's load.

One place for brokers that place their clients, and for plans and experiments that place thousands at once: wherever a
number of a broker stands here, there may be an array with the numbers of many.

Owns: the measures, which have names, and the utility. Must not know: who is compared, or for what.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

__all__ = ["SIMILARITIES", "Similarity", "utility"]

Numbers: TypeAlias = Any
"""One, or an array of them."""

Similarity: TypeAlias = Callable[[Numbers, int, Numbers], Numbers]
"""From the number of topics that both want, that the user wants, and that the broker wants."""


def overlap(common: Numbers, user: int, broker: Numbers) -> Numbers:
    """DYNATOPS's own: the part of the user's topics that the broker has anyway; 0 for a user without topics."""
    return common / max(user, 1)


def jaccard(common: Numbers, user: int, broker: Numbers) -> Numbers:
    return common / _at_least_1(user + broker - common)


def cosine(common: Numbers, user: int, broker: Numbers) -> Numbers:
    return common / _at_least_1(broker * max(user, 1)) ** 0.5


def _at_least_1(count: Numbers) -> Numbers:
    return count + (count == 0)


SIMILARITIES: dict[str, Similarity] = {"overlap": overlap, "jaccard": jaccard, "cosine": cosine}


def utility(similarity: Numbers, load: Numbers, loads: float, load_weight: float) -> Numbers:
    """``Sim - w_l * L`` (section 4). ``load``: the broker's subscriptions; ``loads``: those of all that are known."""
    return similarity - load_weight * (load / max(loads, 1))
