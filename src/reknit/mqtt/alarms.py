"""Many alarms, of which the shell sees only the next.

A heap of times with lazy removal: an alarm that was set anew or cancelled stays in the heap until its time, and is
then known as stale because the table says otherwise. When stale entries are the majority, the heap is built anew, so
that it never holds more than twice the alarms that are set, and a few.

Owns: times. Must not know: what an alarm is for.
"""

from __future__ import annotations

import heapq

__all__ = ["Alarms", "Key"]

Key = tuple[str, int | str]

_STALE_MAX = 64


class Alarms:
    """At most one alarm under each key."""

    __slots__ = ("_count", "_heap", "_times")

    def __init__(self) -> None:
        self._times: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._count = 0  # breaks ties by the order of setting

    def set(self, key: Key, time: float) -> None:
        """Ring at ``time``, and not when it was said before."""
        self._times[key] = time
        self._count += 1
        heapq.heappush(self._heap, (time, self._count, key))
        if len(self._heap) > 2 * len(self._times) + _STALE_MAX:
            self._heap = [entry for entry in self._heap if self._times.get(entry[2]) == entry[0]]
            heapq.heapify(self._heap)

    def cancel(self, key: Key) -> None:
        self._times.pop(key, None)

    def next(self) -> float | None:
        """The time of the next alarm."""
        heap = self._heap
        while heap and self._times.get(heap[0][2]) != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now: float) -> list[Key]:
        """The keys whose time has come, in the order of their times; they are no longer set."""
        keys: list[Key] = []
        while (time := self.next()) is not None and time <= now:
            key = heapq.heappop(self._heap)[2]
            del self._times[key]
            keys.append(key)
        return keys
