"""epidemic-loss: a pull that talks though nothing is lost is not as claimed."""

from __future__ import annotations

from tests.lab.experiments.epidemic import Shape, check_shape

GOOD: Shape = {
    **{("overhead", name): lambda x: x for name in ("subscriber-pull", "publisher-pull", "combined", "random-pull")}
}
BAD: dict[str, Shape] = {
    "every algorithm delivers more than none": {("delivered", "random-pull"): lambda x: 0.5},
    "a pull says nothing where nothing is lost": {("overhead", "combined"): lambda x: 0.1},
    "a push does": {("overhead", "push"): lambda x: x},
}


def test_the_verdict_follows_from_the_claims() -> None:
    check_shape("epidemic-loss", "loss", GOOD, BAD)
