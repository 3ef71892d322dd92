"""Which steps are one change."""

from __future__ import annotations

from reknit.pipeline.changes import StepSeen, changes_of


def test_steps_are_put_together_by_their_kind_and_brokers() -> None:
    steps = [
        StepSeen(1.0, "a", "b", "swap: start at the mover"),
        StepSeen(1.1, "x", "y", "drain: start at the leaver"),
        StepSeen(1.2, "b", "a", "swap: lock at the middle"),
        StepSeen(1.3, "c", "b", "swap: lock at the goal"),
        StepSeen(1.4, "y", "x", "drain: welcome at the heir"),
        StepSeen(2.0, "a", "c", "swap: done at the mover"),
        StepSeen(3.0, "a", "c", "swap: start at the mover"),
        StepSeen(3.5, "", "z", "path: undone at the far end"),
    ]
    found = [
        (each.number, each.kind, each.begun, each.ended, each.steps, list(each.brokers)) for each in changes_of(steps)
    ]
    assert found == [
        (1, "swap", 1.0, 2.0, 4, ["a", "b", "c"]),
        (2, "drain", 1.1, 1.4, 2, ["x", "y"]),
        (3, "swap", 3.0, 3.0, 1, ["a", "c"]),
        (4, "path", 3.5, 3.5, 1, ["z"]),
    ]
