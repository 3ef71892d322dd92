"""What befalls one broker at one moment: it crashes, is paused, or is cut off from another, for a while.

Owns: the deed, and its end. Must not know: why it is this broker, and this moment.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from reknit.sim.cluster import Cluster

__all__ = ["Strikes"]

AWAY_S_MAX = (0.3, 3.0, 15.0)
"""For how long at most the victim is away; a round is over earlier than the longest of these."""

LATE_S = 5.2
"""Who is paused for so long while all are asked answers too late, and the change is given up."""


class Strikes:
    def __init__(self, cluster: Cluster, rng: random.Random, counts: dict[str, int]) -> None:
        """``counts``: what was done, by name; added to."""
        self.cluster = cluster
        self.rng = rng
        self.counts = counts
        self.crashing = True
        self.back: Callable[[], None] = lambda: None  # is called when a broker has come back from a crash

    def strike(self, victim: str, others: Sequence[str] = ()) -> None:
        """``others``: from one of these it may be cut off; if there are none, from a neighbour."""
        if not self.cluster.is_alive(victim):
            return
        away_s = self.rng.uniform(0.05, self.rng.choice(AWAY_S_MAX))
        name = self.rng.choice(
            ("crash", "crash", "crash", "pause", "partition") if self.crashing else ("pause", "partition")
        )
        if self._do(name, victim, away_s, others):
            self.counts[name] = self.counts.get(name, 0) + 1

    def _do(self, name: str, victim: str, away_s: float, others: Sequence[str]) -> bool:
        if name == "partition":
            return self._cut(victim, away_s, others or self._neighbours(victim))
        return (self._crash if name == "crash" else self._pause)(victim, away_s)

    def _neighbours(self, victim: str) -> list[str]:
        broker = self.cluster.nodes[victim].broker
        return [] if broker is None else list(broker.links.of)

    def _crash(self, victim: str, away_s: float) -> bool:
        self.cluster.crash(victim)
        self.cluster.kernel.after(away_s, self._restart, victim)
        return True

    def _restart(self, victim: str) -> None:
        if not self.cluster.is_alive(victim):
            self.cluster.start(victim)
            self.back()

    def _pause(self, victim: str, away_s: float) -> bool:
        self.cluster.pause(victim)
        self.cluster.kernel.after(self.rng.choice((away_s, LATE_S)), self._resume, victim)
        return True

    def _resume(self, victim: str) -> None:
        if self.cluster.nodes[victim].paused:
            self.cluster.resume(victim)

    def _cut(self, victim: str, away_s: float, others: Sequence[str]) -> bool:
        if not others:
            return False
        other = self.rng.choice(others)
        self.cluster.cut(victim, other)
        self.cluster.cut(other, victim)
        self.cluster.kernel.after(away_s, self.cluster.network.heal, (victim, other), (other, victim))
        return True
