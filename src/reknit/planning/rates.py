"""Rates of publication over many periods, as DYNATOPS predicts them (its Eq. 8, ``reknit.model.rates``).

Owns: a row of estimates. Must not know: where the observations come from.
"""

from __future__ import annotations

from collections.abc import Iterable

from reknit.model.rates import ALPHA, expected_next

__all__ = ["ALPHA", "estimates", "expected_next"]


def estimates(observed: Iterable[float], alpha: float = ALPHA) -> list[float]:
    """After each period what is expected of the next.

    The paper does not say where to begin; the first estimate is the first observation.
    """
    found: list[float] = []
    for each in observed:
        found.append(each if not found else expected_next(found[-1], each, alpha))
    return found
