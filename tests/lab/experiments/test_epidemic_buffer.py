"""epidemic-buffer: a buffer that does not matter is not as claimed."""

from __future__ import annotations

from tests.lab.experiments.epidemic import Shape, check_shape

GOOD: Shape = {
    ("delivered", "push"): lambda x: 0.6 + min(x, 0.4),
    ("delivered", "combined"): lambda x: 0.6 + min(x, 0.4),
}
BAD: dict[str, Shape] = {
    "delivery rises with the buffer": {("delivered", "push"): lambda x: 0.9},
    "and at last hardly any more": {("delivered", "push"): lambda x: 0.6 + x / 5},
}


def test_the_verdict_follows_from_the_claims() -> None:
    check_shape("epidemic-buffer", "buffer", GOOD, BAD)
