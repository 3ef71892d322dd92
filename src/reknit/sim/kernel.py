"""Virtual time: what is to happen, in order.

Two things at one moment happen in the order in which they were asked for, so a run depends on nothing but its inputs.
Owns: the queue and the time. Must not know: what happens.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

__all__ = ["Kernel"]


class Kernel:
    __slots__ = ("_count", "_queue", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self._queue: list[tuple[float, int, Callable[..., Any], tuple[Any, ...]]] = []
        self._count = 0

    def at(self, time: float, callback: Callable[..., Any], *args: Any) -> None:
        """Call ``callback(*args)`` at ``time``; at once, but after what is under way, if that has passed."""
        self._count = count = self._count + 1
        now = self.now
        heappush(self._queue, (time if time > now else now, count, callback, args))

    def after(self, delay: float, callback: Callable[..., Any], *args: Any) -> None:
        self._count = count = self._count + 1
        heappush(self._queue, (self.now + delay, count, callback, args))

    def run(self, until: float | None = None) -> None:
        """Run to the end of the queue, or up to and including ``until``."""
        queue = self._queue
        if until is None:
            while queue:
                self.now, _, callback, args = heappop(queue)
                callback(*args)
            return
        while queue and queue[0][0] <= until:
            self.now, _, callback, args = heappop(queue)
            callback(*args)
        self.now = until

    def __len__(self) -> int:
        return len(self._queue)
