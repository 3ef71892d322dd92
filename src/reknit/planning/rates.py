"""Rates of publication, as DYNATOPS predicts them (its Eq. 8).

Owns: the exponential filter. Must not know: where the observations come from.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ALPHA", "estimates", "expected_next"]

ALPHA = 0.3
"""The weight of the latest observation in the paper."""


def expected_next(known: float, seen: float, alpha: float) -> float:
    """What is expected of the next period, after one more."""
    return (1 - alpha) * known + alpha * seen


def estimates(observed: Iterable[float], alpha: float = ALPHA) -> list[float]:
    """After each period what is expected of the next.

    The paper does not say where to begin; the first estimate is the first observation.
    """
    found: list[float] = []
    for each in observed:
        found.append(each if not found else expected_next(found[-1], each, alpha))
    return found
