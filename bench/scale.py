"""100,000 simulated processes in one hierarchy: how long one event takes, and what a peer has to remember.

Owns: the hierarchy, the rows. Must not know: how a peer decides.

Tables are drawn once, as in the paper's simulations; the peers are the real ones, and so is every byte they send. The
time is that of one process on one core, from publication until nothing is on its way any more. What a peer remembers is
counted in entries of its tables, and in bytes of resident memory; where members find each other by SCAMP, views are its
own, at sizes at which a hundred messages for each newcomer are no matter.
"""

from __future__ import annotations

import gc
import os
import random
import time
from dataclasses import dataclass
from math import log
from statistics import mean

import psutil  # type: ignore[import-untyped]

from bench.rows import INFORMATION, Row
from reknit.community.formulas import fan_out
from reknit.community.io import Join
from reknit.community.options import PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.sim.assembly import Assembly
from reknit.sim.network import NetworkOptions

__all__ = ["run"]

PROCESSES = 100_000
SIZES = (10, 1_000, PROCESSES)
SCAMP_SIZES = (10, 1_000)
C, Z = 5.0, 3
EVENT_S_MAX = 60.0
MEMORY_GB_MAX = 8.0
ENTRIES_TOLERANCE = 1.3
ROUNDS = 100
_STILL = SuperOptions(check_s=0.0, search_s=0.0)


@dataclass(frozen=True, slots=True)
class _Spread:
    processes: int
    reached: int
    parasites: int
    frames: int
    processor_s: float
    elapsed_s: float
    memory_gb: float


def run(quick: bool = False) -> list[Row]:
    largest = PROCESSES // 100 if quick else PROCESSES
    rows = [_memory_row(min(size, largest)) for size in dict.fromkeys(min(each, largest) for each in SIZES)]
    rows += [_scamp_row(size, quick) for size in (SCAMP_SIZES[:1] if quick else SCAMP_SIZES)]
    return [*_event_rows(largest, quick), *rows]


# --- a hierarchy with tables that are drawn


def _sizes(processes: int) -> tuple[int, ...]:
    """The paper's shape: each community ten times as large as the one above it."""
    root, middle = max(1, processes // 111), max(1, 10 * processes // 111)
    return root, middle, processes - root - middle


def _hierarchy(processes: int) -> tuple[Assembly, list[list[str]]]:
    sizes = _sizes(processes)
    topics = ["/".join("t" * (level + 1)) for level in range(len(sizes))]
    terms = {
        topic: TopicOptions(c=C, z=Z, membership="static", population=size, supers=_STILL)
        for topic, size in zip(topics, sizes, strict=True)
    }
    network = NetworkOptions(latency_s_min=1.0, latency_s_max=1.0, loss=0.15)
    world = Assembly(PeerOptions(topics=terms, parents={topics[0]: ()}), network, "scale")
    names = [[f"{level}.{number}" for number in range(size)] for level, size in enumerate(sizes)]
    rng = random.Random(1)
    for level, members in enumerate(names):
        above = names[level - 1] if level else []
        for name in members:
            table = tuple(rng.sample(members, min(len(members), fan_out(len(members), C))))
            supers = tuple((topics[level - 1], peer) for peer in rng.sample(above, min(Z, len(above))))
            world.start(name)
            world.give(name, Join(topics[level], contacts=table, supers=supers))
    return world, names


def _resident_gb() -> float:
    return float(psutil.Process(os.getpid()).memory_info().rss) / 1e9


def _event(processes: int) -> _Spread:
    world, names = _hierarchy(processes)
    reached: set[str] = set()
    world.delivered = lambda peer, _: reached.add(peer)
    processor, began = time.process_time(), time.monotonic()
    world.publish(names[-1][0], "t/t/t")
    world.run(ROUNDS)
    spent = (time.process_time() - processor, time.monotonic() - began)
    strays = sum(world.peer(name).counters.get("strays", 0) for name in world.places)
    return _Spread(processes, len(reached), strays, world.network.traffic.frames, *spent, _resident_gb())


def _event_rows(processes: int, quick: bool) -> list[Row]:
    spread = _event(processes)
    gc.collect()
    note = (
        f"{spread.reached:,} reached, {spread.parasites} parasites, {spread.frames:,} messages; "
        f"{spread.elapsed_s:.0f} s by the clock, load {os.getloadavg()[0]:.1f}"
    )
    bar = INFORMATION if quick else 1.0
    return [
        Row(
            f"one event through {processes:,} simulated processes: processor time",
            f"{EVENT_S_MAX:.0f} s = 1",
            bar,
            EVENT_S_MAX / max(spread.processor_s, 1e-9),
            f"{spread.processor_s:.1f} s; {note}",
        ),
        Row(
            f"one event through {processes:,} simulated processes: memory",
            f"{MEMORY_GB_MAX:.0f} GB = 1",
            bar,
            MEMORY_GB_MAX / spread.memory_gb,
            f"{spread.memory_gb:.2f} GB resident",
        ),
    ]


# --- what a peer remembers


def _entries(world: Assembly, names: list[str]) -> list[int]:
    """Of the topic table and of the tables above, for each peer."""
    return [
        len(community.membership.view) + sum(len(table.entries) for table in community.supers)
        for name in names
        for community in world.peer(name).communities.values()
    ]


def _memory_row(processes: int) -> Row:
    before = _resident_gb()
    world, names = _hierarchy(processes)
    bytes_each = 1e9 * (_resident_gb() - before) / processes
    entries = _entries(world, names[-1])
    theory = log(len(names[-1])) + C + Z
    note = (
        f"{mean(entries):.1f} entries, at most {max(entries)}; theory {theory:.1f}; about {bytes_each:.0f} bytes in all"
    )
    measure = f"what a peer remembers, of {processes:,} with drawn tables"
    return Row(measure, "ln N + c + z = 1", INFORMATION, theory / max(entries), note)  # as they were drawn: no verdict


def _scamp_row(processes: int, quick: bool) -> Row:
    terms = TopicOptions(scamp=ScampOptions(lease_s=300.0, heartbeat_s=30.0, walk_hops=2, reunion_s=0.0), supers=_STILL)
    world = Assembly(PeerOptions(topic=terms, parents={"t": ()}), NetworkOptions(latency_s_max=0.01), "memory")
    names = [f"p{number}" for number in range(processes)]
    for number, name in enumerate(names):
        world.start(name)
        world.join(name, "t", (world.rng.choice(names[:number]),) if number else ())
        world.run(0.2)
    world.run(60.0)
    entries = _entries(world, names)
    theory = (1 + terms.scamp.copies) * log(processes)
    note = f"{mean(entries):.1f} entries on average, at most {max(entries)}; SCAMP's theory {theory:.1f}"
    bar = INFORMATION if quick else 1 / ENTRIES_TOLERANCE
    return Row(f"views of {processes:,} members by SCAMP", "2 ln N = 1", bar, theory / max(mean(entries), 1e-9), note)
