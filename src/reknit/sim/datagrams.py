"""The network between peers: datagrams from address to address, and what can go wrong with them.

A datagram gets lost, doubled or overtaken, each by chance; where a direction is cut off it is gone, and so it is where
nobody lives at its address. Nobody learns of it. The options are those of ``network``; there are no connections here.

Owns: latencies, loss, cuts, and what was carried. Must not know: what a datagram says, or what a peer does with it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from reknit.sim.kernel import Kernel
from reknit.sim.network import NetworkOptions, Traffic

__all__ = ["Datagrams"]


class Datagrams:
    """``give(address, sender, frame)`` hands a datagram to whoever lives at ``address``."""

    def __init__(
        self,
        kernel: Kernel,
        options: NetworkOptions,
        rng: random.Random,
        give: Callable[[str, str, bytes], None],
    ) -> None:
        self.kernel = kernel
        self.options = options
        self.rng = rng
        self.give = give
        self.traffic = Traffic()
        self._sides: dict[str, int] = {}

    def send(self, sender: str, to: str, frame: bytes) -> None:
        traffic, options, rng = self.traffic, self.options, self.rng
        traffic.frames += 1
        traffic.bytes += len(frame)
        if self._sides.get(sender, 0) != self._sides.get(to, 0) or (options.loss and rng.random() < options.loss):
            traffic.lost += 1
            return
        self._carry(sender, to, frame)
        if options.duplication and rng.random() < options.duplication:
            traffic.duplicated += 1
            self._carry(sender, to, frame)

    def split(self, *sides: Iterable[str]) -> None:
        """From now on nothing gets from one of these sides to another, nor to those who are on none."""
        self._sides = {address: number for number, side in enumerate(sides, 1) for address in side}

    def heal(self) -> None:
        self._sides = {}

    def _carry(self, sender: str, to: str, frame: bytes) -> None:
        options = self.options
        delay = options.latency_s_min
        if options.latency_s_max > delay:
            delay = self.rng.uniform(delay, options.latency_s_max)
        self.kernel.after(delay, self.give, to, sender, frame)
