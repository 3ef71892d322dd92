"""Rates of publication, as DYNATOPS predicts them: its Eq. 8, an exponential filter.

Owns: one step of the filter. Must not know: where the observations come from.
"""

from __future__ import annotations

__all__ = ["ALPHA", "expected_next"]

ALPHA = 0.3
"""The weight of the latest observation in the paper."""


def expected_next(known: float, seen: float, alpha: float = ALPHA) -> float:
    """What is expected of the next period, after one more."""
    return (1 - alpha) * known + alpha * seen
