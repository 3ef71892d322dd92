"""epidemic-reconfiguration: a push that is cheaper than the pulls is not as claimed."""

from __future__ import annotations

from tests.lab.experiments.epidemic import Shape, check_shape

GOOD: Shape = {("overhead", "push"): lambda x: 3.0}
BAD: dict[str, Shape] = {
    "combined pull delivers more than none": {("delivered", "combined"): lambda x: 0.4 + x},
    "the pulls are cheaper than push": {("overhead", "push"): lambda x: 0.4},
}


def test_the_verdict_follows_from_the_claims() -> None:
    check_shape("epidemic-reconfiguration", "replaced_every_s", GOOD, BAD)
