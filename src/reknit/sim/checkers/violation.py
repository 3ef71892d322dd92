"""What a checker has found."""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass

__all__ = ["Violation", "failure"]


@dataclass(frozen=True, slots=True)
class Violation:
    checker: str
    time: float
    what: str

    def __str__(self) -> str:
        return f"{self.checker} at {self.time:.3f} s: {self.what}"


def failure(error: Exception, time: float) -> Violation:
    """Whatever it is that breaks a broker: what went wrong, and where."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{place.name}, {os.path.basename(place.filename)}:{place.lineno}"
    return Violation("failure", time, f"{type(error).__name__}: {error} (in {where})")
