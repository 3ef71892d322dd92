"""The simulation kernel beside simpy: how many events per second.

Owns: one workload for both. A thousand timers, each of which sets itself again after a pseudo-random delay; the delays
are drawn once, and both take them in the order in which their events happen, so both must take as many of them. For
simpy a timer is a process that yields timeouts, which is how one writes for it.

Time is processor time: nothing here waits, and on a shared machine the clock on the wall would measure the neighbours.
What remains of them (caches, memory) can only slow a round down, so of the alternating rounds each one's best counts.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Generator, Iterator
from operator import length_hint
from statistics import median
from typing import Any, TypeAlias

import simpy

from bench.rows import Row
from reknit.sim.kernel import Kernel

__all__ = ["run"]

TIMERS = 1000
EVENTS = 100_000
ROUNDS = 11
_MARGIN = 1.5  # more delays than events are expected; the mean delay is 1, but their sum is a matter of chance

_Workload: TypeAlias = Callable[[Iterator[float], float], None]


def run(quick: bool = False) -> list[Row]:
    events, rounds = (30_000, 2) if quick else (EVENTS, ROUNDS)
    chance = random.Random(2)
    delays = [chance.uniform(0.1, 1.9) for _ in range(int(events * _MARGIN) + TIMERS)]
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(_rate(_with_kernel, delays, events / TIMERS))
        theirs.append(_rate(_with_simpy, delays, events / TIMERS))
    best, middle = max(ours) / max(theirs), median(ours) / median(theirs)
    note = f"kernel {max(ours):,.0f}/s; simpy {max(theirs):,.0f}/s; best of {rounds} rounds, medians give {middle:.2f}"
    return [Row("simulation kernel, events per second", "simpy = 1", 2.0, best, note)]


def _rate(workload: _Workload, delays: list[float], until: float) -> float:
    left = iter(delays)
    gc.collect()
    began = time.process_time()
    workload(left, until)
    took_s = time.process_time() - began
    return (len(delays) - length_hint(left) - TIMERS) / took_s


def _with_kernel(delays: Iterator[float], until: float) -> None:
    kernel, delay = Kernel(), delays.__next__
    after = kernel.after

    def tick() -> None:
        after(delay(), tick)

    for _ in range(TIMERS):
        after(delay(), tick)
    kernel.run(until=until)


def _with_simpy(delays: Iterator[float], until: float) -> None:
    environment, delay = simpy.Environment(), delays.__next__
    timeout = environment.timeout

    def ticks() -> Generator[simpy.Event, Any, Any]:
        while True:
            yield timeout(delay())

    for _ in range(TIMERS):
        environment.process(ticks())
    environment.run(until=until)
