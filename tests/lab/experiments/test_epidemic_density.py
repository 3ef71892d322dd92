"""epidemic-density: a pull that needs no other subscribers is not as claimed."""

from __future__ import annotations

from tests.lab.experiments.epidemic import Shape, check_shape

GOOD: Shape = {("delivered", "subscriber-pull"): lambda x: 0.6 + x / 5}
BAD: dict[str, Shape] = {
    "subscriber pull delivers more where more want a pattern": {("delivered", "subscriber-pull"): lambda x: 0.6},
    "combined pull is ahead of it where few do": {("delivered", "combined"): lambda x: 0.5},
    "so is push": {("delivered", "push"): lambda x: 0.5},
    "the number of subscribers does not affect push": {("delivered", "push"): lambda x: 0.9 - x / 10},
}


def test_the_verdict_follows_from_the_claims() -> None:
    check_shape("epidemic-density", "subscriptions", GOOD, BAD)
