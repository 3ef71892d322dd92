"""epidemic-patterns: a push that does not mind many patterns is not as claimed."""

from __future__ import annotations

from tests.lab.experiments.epidemic import Shape, check_shape

GOOD: Shape = {("latency_s", "push"): lambda x: 0.1 + x}
BAD: dict[str, Shape] = {
    "push takes longer with more patterns": {
        ("latency_s", "push"): lambda x: 1.0,
        ("latency_s", "publisher-pull"): lambda x: 1.0 - x,
    },
    "it slows down by more than the publisher pull does": {("latency_s", "publisher-pull"): lambda x: 2 * x},
}


def test_the_verdict_follows_from_the_claims() -> None:
    check_shape("epidemic-patterns", "patterns", GOOD, BAD)
