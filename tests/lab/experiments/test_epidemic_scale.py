"""epidemic-scale: a cost that grows with the network is not as claimed."""

from __future__ import annotations

from tests.lab.experiments.epidemic import Shape, check_shape

GOOD: Shape = {}
BAD: dict[str, Shape] = {
    "the overhead grows by less than a half": {("overhead", "push"): lambda x: 0.5 + x},
    "that of auto, too": {("overhead", "auto"): lambda x: 0.5 + x},
    "what each broker says in a second grows by less than a half, also with auto": {
        ("per_broker_s", "auto"): lambda x: 0.5 + x
    },
    "every algorithm delivers more than none in the largest network": {
        ("delivered", "combined"): lambda x: 0.9 - x / 2
    },
    "what comes back costs auto no more in a larger network": {("messages", "auto"): lambda x: 1.5 + x},
}


def test_the_verdict_follows_from_the_claims() -> None:
    check_shape("epidemic-scale", "brokers", GOOD, BAD)
