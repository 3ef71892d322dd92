"""Virtual time: what is to happen, in order.

Two things at one moment happen in the order in which they were asked for, so a run depends on nothing but its inputs.
Owns: the queue and the time. Must not know: what happens.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Any, TypeAlias

__all__ = ["Kernel"]

_Entry: TypeAlias = tuple[float, float, Callable[..., Any], tuple[Any, ...]]


class _End(Exception):
    """The end of a run is itself an entry, behind all others of its time: then nothing has to be asked before each."""


def _end() -> None:
    raise _End


class Kernel:
    __slots__ = ("_number", "_queue", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self._queue: list[_Entry] = []
        self._number = count(1).__next__

    def at(self, time: float, callback: Callable[..., Any], *args: Any) -> None:
        """Call ``callback(*args)`` at ``time``; at once, but after what is under way, if that has passed."""
        now = self.now
        heappush(self._queue, (time if time > now else now, self._number(), callback, args))

    def after(self, delay: float, callback: Callable[..., Any], *args: Any) -> None:
        heappush(self._queue, (self.now + delay, self._number(), callback, args))

    def run(self, until: float = inf) -> None:
        """Run to the end of the queue, or up to and including ``until``, which is then the time."""
        queue, pop = self._queue, heappop
        until = max(until, self.now)
        end: _Entry = (until, inf, _end, ())
        heappush(queue, end)
        try:
            while True:
                time, _, callback, args = pop(queue)
                if callback is not _end:
                    self.now = time
                callback(*args)
        except _End:
            if until < inf:
                self.now = until
        except BaseException:
            queue.remove(end)
            heapify(queue)
            raise

    def __len__(self) -> int:
        return len(self._queue)
