"""epidemic-interval: a push that gains nothing by a shorter interval is not as claimed."""

from __future__ import annotations

from tests.lab.experiments.epidemic import Shape, check_shape

GOOD: Shape = {
    ("overhead", "push"): lambda x: 2 - x,
    ("latency_s", ""): lambda x: 0.2 + x / 9,
    ("latency_s", "push"): lambda x: x,
}
BAD: dict[str, Shape] = {
    "a shorter interval of push costs more": {("overhead", "push"): lambda x: 2.0},
    "it brings events back sooner": {("latency_s", "random-pull"): lambda x: 0.3 - x / 9},
    "push gains more time by it than the pulls do": {("latency_s", "push"): lambda x: x / 10},
}


def test_the_verdict_follows_from_the_claims() -> None:
    check_shape("epidemic-interval", "gossip_s", GOOD, BAD)
