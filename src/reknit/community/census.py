"""How many members a community has, counted by all of them together.

Each member draws a few numbers from the exponential distribution. Members tell each other the smallest of each that
they know. The minimum over N members of such numbers is exponential with mean 1/N, so when all know the smallest
ones, those sum up to about K/N, and ``(K - 1) / sum`` is an estimate of N without bias, with a relative error of ``1
/ sqrt(K - 2)`` (extrema propagation). Smallest numbers can be told any number of times by any way, so loss and copies
do no harm.

The numbers of members that have gone would stay for ever, so counting begins anew in each *epoch*. Who hears of a
later epoch goes over to it. While an epoch is young its count is too low, and that of the last one is used; from its
middle on it is the present one. (The larger of both would be too high on average, and would count for longer who has
gone.)

One who lies can make a count too high, but not by much, nor for long: no count is believed to be more than some times
the last one, an epoch that lies too far ahead is none, and in the next one his numbers are forgotten.

Owns: the numbers, and what follows from them. Must not know: whom they are told.
"""

from __future__ import annotations

from array import array
from math import isfinite
from random import Random

from reknit.wire.peers import EPOCH_MAX, MINIMA

__all__ = ["BEATS_MIN", "EPOCHS_AHEAD_MAX", "GROWTH_MAX", "POPULATION_MAX", "Census"]

BEATS_MIN = 4
"""An epoch that was left earlier says nothing: its numbers have not gone round."""

POPULATION_MAX = 1e7
"""No count is believed to be higher, whoever says so."""

GROWTH_MAX = 8.0
"""From one epoch to the next a community grows to so many times its size at most, as far as is believed."""

EPOCHS_AHEAD_MAX = 2**20
"""Who is farther ahead than that lies. Newcomers are behind by all epochs that there were: at 40 s each, a year's."""


class Census:
    __slots__ = ("_beats", "_last", "_minima", "_rng", "epoch", "epoch_beats")

    def __init__(self, rng: Random, epoch_beats: int) -> None:
        self._rng = rng
        self._beats = 0
        self._last = 0.0
        self.epoch = 0
        self.epoch_beats = epoch_beats
        self._minima = self._drawn()

    def beat(self) -> None:
        """A heartbeat's time has passed."""
        self._beats += 1
        if self._beats >= self.epoch_beats:
            self._begin(self.epoch + 1)

    def sketch(self) -> bytes:
        return self._minima.tobytes()

    def hear(self, epoch: int, sketch: bytes, believed: bool = True) -> bool:
        """What another member knows; whether it can be true. It counts if whoever says so is believed."""
        told = array("f", sketch)
        if len(told) != MINIMA or not (isfinite(sum(told)) and min(told) > 0.0):
            return False
        if epoch > self.epoch + EPOCHS_AHEAD_MAX or _count(told) > POPULATION_MAX:
            return False
        if epoch > self.epoch and believed:
            self._begin(epoch)
        if epoch == self.epoch and believed:
            self._minima = array("f", [old if old < new else new for old, new in zip(self._minima, told, strict=True)])
        return True

    def population(self) -> float:
        """Of how many the community consists, oneself included, as far as is known."""
        is_young = self._last and self._beats < self.epoch_beats / 2
        return max(1.0, self._last if is_young else self._estimate())

    def _estimate(self) -> float:
        count = _count(self._minima)
        return min(count, GROWTH_MAX * self._last) if self._last else count

    def _begin(self, epoch: int) -> None:
        if self._beats >= BEATS_MIN:
            self._last = max(1.0, self._estimate())
        self.epoch = min(epoch, EPOCH_MAX)
        self._beats = 0
        self._minima = self._drawn()

    def _drawn(self) -> array[float]:
        return array("f", (max(self._rng.expovariate(1.0), 1e-9) for _ in range(MINIMA)))


def _count(minima: array[float]) -> float:
    return (MINIMA - 1) / sum(minima)
