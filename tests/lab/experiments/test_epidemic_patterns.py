"""epidemic-patterns: a push that does not mind many patterns is not as claimed."""

from __future__ import annotations

from tests.lab.experiments.epidemic import Shape, check_shape

GOOD: Shape = {("latency_s", "push"): lambda x: 0.1 + x}
BAD: Shape = {("latency_s", "push"): lambda x: 1.0}


def test_the_verdict_follows_from_the_claims() -> None:
    check_shape("epidemic-patterns", "patterns", GOOD, BAD)
