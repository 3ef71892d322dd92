"""epidemic-scale: a cost that grows with the network is not as claimed."""

from __future__ import annotations

from tests.lab.experiments.epidemic import Shape, check_shape

GOOD: Shape = {}
BAD: Shape = {("overhead", "push"): lambda x: 0.5 + x}


def test_the_verdict_follows_from_the_claims() -> None:
    check_shape("epidemic-scale", "brokers", GOOD, BAD)
