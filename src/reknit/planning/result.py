"""What a plan has brought, beside what it was to bring.

Owns: the comparison. Must not know: how it was measured. The time that was watched before is another than the one
after, so what is compared is what one event costs.
"""

from __future__ import annotations

import msgspec

from reknit.planning.notified import Notified
from reknit.planning.plan import Plan
from reknit.planning.ring_plan import RingPlan

__all__ = ["Result", "compare", "compare_ring", "surprise_of"]

CROSSED = "links crossed by an event"
NOTIFIED = "the cost of notifying, by event"


class Result(msgspec.Struct, frozen=True):
    events: int
    """That were watched after the plan was carried out."""
    before: float
    """What one event cost when the plan was made: on a tree, the links that it crossed."""
    predicted: float
    measured: float | None
    """None if no event was seen."""
    what: str = CROSSED

    @property
    def saved(self) -> float | None:
        return None if self.measured is None or not self.before else 1 - self.measured / self.before

    @property
    def off(self) -> float | None:
        """How far the prediction is from what was measured, as a part of that."""
        return None if not self.measured else _off(self.predicted, self.measured)

    def surprise(self, off_max: float) -> str:
        """Why this is not what was predicted; empty if it is, or nothing was measured."""
        return (
            "" if self.measured is None else surprise_of(self.what, self.before, self.predicted, self.measured, off_max)
        )

    @property
    def said(self) -> str:
        expected = f"{self.what}: {self.before:.3f} before, predicted {self.predicted:.3f}"
        if self.measured is None or self.saved is None:
            return f"{expected}; no event was published meanwhile, so nothing was measured"
        off = "" if self.off is None else f", the prediction off by {self.off:.1%}"
        return f"{expected}, measured {self.measured:.3f} over {self.events:,} events: {self.saved:.0%} saved{off}"


def surprise_of(what: str, before: float, predicted: float, measured: float, off_max: float) -> str:
    """Why this is not what was predicted; empty if it is. A cost of nothing is none."""
    if measured > before:
        return f"{what}: more than before the plan, {measured:,.3f} for {before:,.3f}"
    if measured and (off := _off(predicted, measured)) > off_max:
        return f"the prediction is off by {off:.1%}, which is more than {off_max:.1%}"
    return ""


def _off(predicted: float, measured: float) -> float:
    return abs(predicted / measured - 1)


def compare(plan: Plan, events: int, crossed: int) -> Result:
    seen = max(plan.evidence.events, 1)
    measured = crossed / events if events else None
    return Result(events, plan.cost_before / seen, plan.cost_after / seen, measured)


def compare_ring(plan: RingPlan, found: Notified) -> Result:
    seen = max(plan.evidence.events, 1.0)
    measured = found.cost / found.events if found.events else None
    return Result(found.events, plan.cost_before / seen, plan.cost_after / seen, measured, NOTIFIED)
