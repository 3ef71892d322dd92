"""One row of the table that ``python -m bench`` prints: a ratio, the peer it was taken against, and the bar.

Owns: what a result is and when it is good. Must not know: how anything is measured, or how the table looks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["INFORMATION", "Row"]

INFORMATION = 0.0
"""An ``at_least`` that asks for nothing: the row is there to be read, not to be passed."""


@dataclass(frozen=True, slots=True)
class Row:
    """``measured`` is reknit's ratio to ``peer``, more is better; not a number where it could not be measured."""

    measure: str
    peer: str
    at_least: float
    measured: float
    note: str = ""

    @property
    def verdict(self) -> str:
        if math.isnan(self.measured):
            return "not measured"
        if self.at_least == INFORMATION:
            return "information"
        return "ok" if self.measured >= self.at_least else "below"
