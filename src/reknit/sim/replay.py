"""A stream of subscriptions, played into a simulated network.

Owns: clients that come with their first wish, and what is wanted in the end. Must not know: where the stream is from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from reknit.model.pattern import Pattern
from reknit.sim.cluster import Cluster
from reknit.trace.wishes import BadWishes, Wish

__all__ = ["Replayed", "replay"]

TELL_EVERY = 1_000
"""Changes between two words on how far it is."""


@dataclass(slots=True)
class Replayed:
    subscribes: int = 0
    unsubscribes: int = 0
    wanted: dict[tuple[str, str], dict[Pattern, None]] = field(default_factory=dict)
    """By broker and client, what it wants in the end."""

    @property
    def changes(self) -> int:
        return self.subscribes + self.unsubscribes


def replay(
    cluster: Cluster, wishes: Iterable[Wish], speed: float = 0.0, tell: Callable[[int], None] = lambda done: None
) -> Replayed:
    """Each change at its time, ``speed`` times as fast as it was; at 0 one after the other, with no time between."""
    done = Replayed()
    begun, first = cluster.kernel.now, None
    for wish in wishes:
        first = wish.at if first is None else first
        if speed > 0:
            cluster.kernel.run(until=begun + (wish.at - first) / speed)
        _play(cluster, wish, done)
        if done.changes % TELL_EVERY == 0:
            tell(done.changes)
    return done


def _play(cluster: Cluster, wish: Wish, done: Replayed) -> None:
    if wish.broker not in cluster.nodes:
        raise BadWishes(f"the stream has a broker {wish.broker} that the network has not")
    who = (wish.broker, wish.client)
    if who not in done.wanted:
        cluster.attach(*who)
    wanted, pattern = done.wanted.setdefault(who, {}), Pattern(wish.topic)
    if wish.wanted:
        done.subscribes += 1
        wanted[pattern] = None
        cluster.subscribe(*who, pattern)
    else:
        done.unsubscribes += 1
        wanted.pop(pattern, None)
        cluster.unsubscribe(*who, pattern)
