"""Faults as named options, and the hand that applies them.

Owns: which fault happens when. Must not know: the protocol. Each fault is undone by ``heal``; the liveness phase of a
schedule begins there.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

from reknit.sim.cluster import Cluster
from reknit.sim.spare import can_part, can_spare

__all__ = ["FaultOptions", "Faults"]

BROKERS_LEFT_MIN = 3


class FaultOptions(msgspec.Struct, frozen=True):
    """How many of each per broker and minute of virtual time; 0 is never."""

    breaks: float = 0.0
    """A connection is reset: both ends lose it, and what is in flight."""
    partitions: float = 0.0
    """Two neighbours cannot reach each other."""
    asymmetric: float = 0.0
    """One of two neighbours cannot reach the other, which still reaches it."""
    crashes: float = 0.0
    """A broker loses all its memory, and comes back."""
    pauses: float = 0.0
    """A broker does nothing for a while, and then goes on as if nothing had been."""
    losses: int = 0
    """So many brokers at a time die for good; or, if they are links, so many links."""
    lost_links: bool = False
    span_s_max: float = 6.0
    """Cuts, crashes and pauses last at most so long."""


class Faults:
    def __init__(self, cluster: Cluster, options: FaultOptions, rng: random.Random, counts: dict[str, int]) -> None:
        """``counts``: what was done, by name; added to."""
        self.cluster = cluster
        self.options = options
        self.rng = rng
        self.counts = counts
        self._active = True
        self._cuts: dict[tuple[str, str], int] = {}  # by direction: how many cuts there are now

    def schedule(self, span_s: float) -> None:
        """Draw the faults of the next ``span_s`` seconds."""
        deeds = {
            "break": (self.options.breaks, self._break),
            "partition": (self.options.partitions, self._partition),
            "asymmetric": (self.options.asymmetric, self._asymmetric),
            "crash": (self.options.crashes, self._crash),
            "pause": (self.options.pauses, self._pause),
        }
        for name, (rate, deed) in deeds.items():
            expected = rate * len(self.cluster.nodes) * span_s / 60
            count = int(expected) + (self.rng.random() < expected % 1)
            for _ in range(count):
                self.cluster.kernel.after(self.rng.uniform(0, span_s), self._do, name, deed)
        lose = ("lost link", self._lose_link) if self.options.lost_links else ("lost broker", self._lose_broker)
        for _ in range(self.options.losses):
            self.cluster.kernel.after(self.rng.uniform(0, span_s), self._do, *lose)

    def _do(self, name: str, deed: Callable[[], bool]) -> None:
        if self._active and deed():
            self.counts[name] = self.counts.get(name, 0) + 1

    def heal(self) -> None:
        """Undo everything, and let nothing more happen."""
        self._active = False
        self.cluster.network.heal()
        for node in self.cluster.nodes.values():
            if node.broker is None:
                self.cluster.start(node.name)
            elif node.paused:
                self.cluster.resume(node.name)

    # --- the deeds; each says whether it was done

    def _neighbours(self) -> tuple[str, str] | None:
        pairs = [
            (node.name, peer)
            for node in self.cluster.nodes.values()
            if node.broker is not None
            for peer in node.broker.links.of
        ]
        return self.rng.choice(pairs) if pairs else None

    def _span(self) -> float:
        return self.rng.uniform(0.05, self.options.span_s_max)

    def _break(self) -> bool:
        pair = self._neighbours()
        return pair is not None and self.cluster.network.break_connection(*pair)

    def _partition(self) -> bool:
        pair = self._neighbours()
        if pair is None:
            return False
        self._cut(pair, pair[::-1])
        return True

    def _asymmetric(self) -> bool:
        pair = self._neighbours()
        if pair is None:
            return False
        self._cut(pair)
        return True

    def _cut(self, *directions: tuple[str, str]) -> None:
        for each in directions:
            self.cluster.cut(*each)
            self._cuts[each] = self._cuts.get(each, 0) + 1
        self.cluster.kernel.after(self._span(), self._end_cut, directions)

    def _end_cut(self, directions: tuple[tuple[str, str], ...]) -> None:
        """Where cuts overlap, the last to end heals."""
        if not self._active:
            return  # all is healed, and what is cut off now is another hand's
        for each in directions:
            self._cuts[each] -= 1
        over = [each for each in directions if not self._cuts[each]]
        if over:
            self.cluster.network.heal(*over)

    def _crash(self) -> bool:
        name = self.rng.choice(list(self.cluster.nodes))
        if not self.cluster.is_alive(name):
            return False
        self.cluster.crash(name)
        self.cluster.kernel.after(self._span(), self.cluster.start_again, name)
        return True

    def _pause(self) -> bool:
        name = self.rng.choice(list(self.cluster.nodes))
        node = self.cluster.nodes[name]
        if node.broker is None or node.paused:
            return False
        self.cluster.pause(name)
        self.cluster.kernel.after(self._span(), self._end_pause, name)
        return True

    def _end_pause(self, name: str) -> None:
        if self.cluster.nodes[name].paused:
            self.cluster.resume(name)

    def _lose_broker(self) -> bool:
        """Not one of the last three, and only where the others can know what to do."""
        alive = [name for name in self.cluster.nodes if self.cluster.is_alive(name)]
        spare = [name for name in alive if can_spare(self.cluster, name)]
        if len(alive) <= BROKERS_LEFT_MIN or not spare:
            return False
        self.cluster.lose(self.rng.choice(spare))
        return True

    def _lose_link(self) -> bool:
        pair = self._neighbours()
        if pair is None or not can_part(self.cluster, *pair):
            return False
        self.cluster.network.sever(*pair)
        return True
