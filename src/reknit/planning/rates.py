"""Rates of publication, as DYNATOPS predicts them (its Eq. 8).

Owns: the exponential filter. Must not know: where the observations come from.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ALPHA", "estimates"]

ALPHA = 0.3
"""The weight of the latest observation in the paper."""


def estimates(observed: Iterable[float], alpha: float = ALPHA) -> list[float]:
    """After each period what is expected of the next: ``(1 - alpha) * estimate + alpha * observed``.

    The paper does not say where to begin; the first estimate is the first observation.
    """
    found: list[float] = []
    for each in observed:
        found.append(each if not found else (1 - alpha) * found[-1] + alpha * each)
    return found
