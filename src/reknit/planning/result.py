"""What a plan has brought, beside what it was to bring.

Owns: the comparison. Must not know: how it was measured. The time that was watched before is another than the one
after, so what is compared is how many links one event crosses.
"""

from __future__ import annotations

import msgspec

from reknit.planning.plan import Plan

__all__ = ["Result", "compare"]


class Result(msgspec.Struct, frozen=True):
    events: int
    """That were watched after the plan was carried out."""
    before: float
    """Links that one event crossed when the plan was made."""
    predicted: float
    measured: float | None
    """None if no event was seen."""

    @property
    def saved(self) -> float | None:
        return None if self.measured is None or not self.before else 1 - self.measured / self.before

    @property
    def off(self) -> float | None:
        """How far the prediction is from what was measured, as a part of that."""
        return None if not self.measured else abs(self.predicted / self.measured - 1)

    @property
    def said(self) -> str:
        expected = f"links crossed by an event: {self.before:.3f} before, predicted {self.predicted:.3f}"
        if self.measured is None or self.saved is None:
            return f"{expected}; no event was published meanwhile, so nothing was measured"
        off = "" if self.off is None else f", the prediction off by {self.off:.1%}"
        return f"{expected}, measured {self.measured:.3f} over {self.events:,} events: {self.saved:.0%} saved{off}"


def compare(plan: Plan, events: int, crossed: int) -> Result:
    seen = max(plan.evidence.events, 1)
    measured = crossed / events if events else None
    return Result(events, plan.cost_before / seen, plan.cost_after / seen, measured)
