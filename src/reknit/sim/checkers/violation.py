"""What a checker has found."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Violation"]


@dataclass(frozen=True, slots=True)
class Violation:
    checker: str
    time: float
    what: str

    def __str__(self) -> str:
        return f"{self.checker} at {self.time:.3f} s: {self.what}"
