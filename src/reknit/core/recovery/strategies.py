"""The algorithms of recovery by name."""

from __future__ import annotations

from collections.abc import Callable

from reknit.core.recovery.auto import Auto
from reknit.core.recovery.combined import Combined
from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.options import RecoveryName
from reknit.core.recovery.publisher_pull import PublisherPull
from reknit.core.recovery.push import Push
from reknit.core.recovery.random_pull import RandomPull
from reknit.core.recovery.strategy import Strategy
from reknit.core.recovery.subscriber_pull import SubscriberPull

__all__ = ["STRATEGIES", "make_strategies"]

STRATEGIES: dict[str, type[Strategy]] = {
    each.name: each for each in (Push, SubscriberPull, PublisherPull, Combined, RandomPull, Auto)
}
"""All but ``none``, which does nothing."""


def make_strategies(talk: Talk) -> list[Strategy]:
    """Those in use, each for the patterns that it is chosen for."""
    return [STRATEGIES[name](talk, _chosen(talk, name)) for name in talk.options.names]


def _chosen(talk: Talk, name: RecoveryName) -> Callable[[int], bool]:
    options, patterns = talk.options, talk.signatures.patterns
    if not options.of:
        return lambda _: True

    def concerns(signature: int) -> bool:
        pattern = patterns.get(signature)
        return pattern is not None and options.of.get(pattern.topic, options.algorithm) == name

    return concerns
