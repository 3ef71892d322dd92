"""Twenty broker processes on a ring under load, while they change places again and again.

Owns: the ring, the changes, and the rows. Must not know: how the load judges what it hears (``crowd``).

Each change is a circle of brokers, drawn by chance: each goes where the next one is, in the four steps of the paper, so
for a moment there are two versions of the ring. Every subscriber hears every topic, and judges for each publisher
whether anything of it is lost, doubled or out of order; a publisher has one topic. In the end all brokers must have
one version, and the trees must be the ideal ones.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from bench.crowd import Crowd, Heard, gather, hear_out
from bench.rows import INFORMATION, Row
from reknit.cli.places import circle_plan
from reknit.cli.verify_routes import compare
from reknit.core.options import BrokerOptions
from reknit.live.address import parse_address
from reknit.live.config import NetworkFile, NetworkSection
from reknit.live.network import Network
from reknit.live.plan import plan_network

__all__ = ["run"]

TOPICS = 5
CIRCLE_MAX = 5
CHANGE_S_MAX = 60.0
CALM_S_MAX = 60.0
"""Within so long the ring must be whole, at the beginning and at the end."""
POLL_S = 1.0
NO_REUSE = httpx.Limits(max_keepalive_connections=0)
"""A broker may close an idle connection in the very moment in which it is used again."""


@dataclass(frozen=True, slots=True)
class _Size:
    brokers: int
    changes: int
    events_per_s: int
    rest_s: float
    """Between two changes."""


WHOLE = _Size(20, 20, 100, 1.0)
QUICK = _Size(4, 2, 20, 0.2)


def run(quick: bool = False) -> list[Row]:
    size = QUICK if quick else WHOLE
    with tempfile.TemporaryDirectory(prefix="reknit-bench-") as name:
        return asyncio.run(_changes_under_load(size, Path(name), quick))


class _Ring:
    def __init__(self, network: Network, http: httpx.AsyncClient) -> None:
        self.doors = {broker.name: broker.admin for broker in network.state.brokers}
        self.http = http
        self.rng = random.Random(1)

    async def tables(self) -> dict[str, dict[str, Any]]:
        return {name: (await self.http.get(door + "/table")).json() for name, door in self.doors.items()}

    async def settled(self) -> bool:
        """Is there one version, and are the trees the ideal ones? Within a bounded time."""
        until = time.monotonic() + CALM_S_MAX
        while time.monotonic() < until:
            tables = await self.tables()
            versions = {table["ring"]["version"] for table in tables.values()}
            if len(versions) == 1 and not compare(tables):
                return True
            await asyncio.sleep(POLL_S)
        return False

    async def change(self) -> float:
        """Some brokers go where others are; how long it took."""
        rings = {name: table["ring"] for name, table in (await self.tables()).items()}
        circle = self.rng.sample(sorted(rings), self.rng.randint(2, min(CIRCLE_MAX, len(rings))))
        begun = time.monotonic()
        answer = await self.http.post(self.doors[circle[0]] + "/places", json=circle_plan(rings, circle))
        answer.raise_for_status()
        return time.monotonic() - begun


async def _changes_under_load(size: _Size, directory: Path, quick: bool) -> list[Row]:
    section, options = NetworkSection(brokers=size.brokers), BrokerOptions(routing="rendezvous")
    plan = plan_network(NetworkFile(network=section, options=options))
    async with (
        Network(plan, directory, lambda line: None) as network,
        httpx.AsyncClient(trust_env=False, timeout=CHANGE_S_MAX, limits=NO_REUSE) as http,
    ):
        ring = _Ring(network, http)
        ports = [parse_address(broker.mqtt).port for broker in network.state.brokers]
        crowd = await gather(Crowd(ports, 1, size.events_per_s, str(directory / "delays"), TOPICS))
        if not await ring.settled():
            raise RuntimeError("the ring did not come to rest before the first change")
        took = []
        for _ in range(size.changes):
            took.append(await ring.change())
            await asyncio.sleep(size.rest_s)
        heard = await hear_out(crowd)
        return [_judged(heard, took, size, quick), _one_version(await ring.settled(), quick)]


def _judged(heard: Heard, took: Sequence[float], size: _Size, quick: bool) -> Row:
    wrong = heard.lost + heard.duplicated + heard.out_of_order
    note = (
        f"{heard.received:,} deliveries of {heard.sent:,} events: lost {heard.lost}, doubled {heard.duplicated}, "
        f"out of order {heard.out_of_order}; a change took {median(took):.2f} s, the longest {max(took):.2f} s"
    )
    measure = f"{size.brokers} brokers on a ring, {size.changes} planned changes under load: deliveries that are right"
    return Row(measure, "all that are owed = 1", INFORMATION if quick else 1.0, 1 - wrong / heard.owed, note)


def _one_version(settled: bool, quick: bool) -> Row:
    measure = "the same: one version everywhere in the end, and ideal trees"
    return Row(measure, "so = 1", INFORMATION if quick else 1.0, float(settled))
