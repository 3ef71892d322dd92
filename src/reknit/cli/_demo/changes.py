"""How the demo changes the tree while events flow: links are swapped, a broker is added, another drained.

Owns: which changes are made, drawn from a seed, and the tree as they leave it. Must not know: clients, or what is
right. Whatever else can be done to a tree that runs is one more method here, and one more line in ``play``.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from typing import Protocol

import httpx

from reknit.cli._problem import Failed
from reknit.core.overlay.shapes import Edge, adjacency
from reknit.core.overlay.swap import Step, after
from reknit.live.network import Network

__all__ = ["Changes"]

SWAP_S_MAX = 30.0
DRAIN_S_MAX = 30.0
POLL_S = 0.02


class _Audience(Protocol):
    def swapped(self, step: Step, seconds: float) -> None: ...

    def added(self, name: str, neighbour: str, seconds: float) -> None: ...

    def drained(self, name: str, heir: str, seconds: float) -> None: ...


class Changes:
    def __init__(
        self, network: Network, http: httpx.AsyncClient, edges: Sequence[Edge], rng: random.Random, audience: _Audience
    ) -> None:
        self.swaps: list[Step] = []
        self.edges = list(edges)
        self._network = network
        self._http = http
        self._rng = rng
        self._audience = audience

    async def swap_some(self, count: int) -> None:
        for _ in range(count):
            await self._swap(self._rng.choice(_all_swaps(self.edges)))

    async def swap_all(self, steps: Sequence[Step]) -> None:
        """These, in their order; ``Failed`` at the first that is refused, or that finds another tree."""
        for step in steps:
            await self._swap(step)

    async def add(self, name: str) -> None:
        """A new broker, and then a link that is turned towards it, so that events pass through it."""
        begun = time.monotonic()
        neighbour = self._rng.choice(sorted(adjacency(self.edges)))
        await self._network.add(name, neighbour)
        self.edges.append((name, neighbour))
        self._audience.added(name, neighbour, time.monotonic() - begun)
        await self._swap(self._rng.choice([step for step in _all_swaps(self.edges) if step.goal == name]))

    def heir_of(self, name: str) -> str:
        """The neighbour that will have its clients."""
        return min(adjacency(self.edges)[name])

    async def drain(self, name: str) -> None:
        """Make it a leaf, and then let its clients move, and it go."""
        heir = self.heir_of(name)
        for other in sorted(adjacency(self.edges)[name]):
            if other != heir:
                await self._swap(Step(other, name, heir))
        begun = time.monotonic()
        await self._ask(f"drain {name}", self._network.state.broker(name).admin + "/drain", {})
        while any(broker.name == name for broker in self._network.state.brokers):
            if time.monotonic() - begun > DRAIN_S_MAX:
                raise Failed(f"demo: {name} was not drained within {DRAIN_S_MAX:g} s")
            await asyncio.sleep(POLL_S)
        self.edges = [edge for edge in self.edges if name not in edge]
        self._audience.drained(name, heir, time.monotonic() - begun)

    async def _swap(self, step: Step) -> None:
        begun = time.monotonic()
        door = self._network.state.broker(step.mover).admin
        body = {"kind": "swap", "middle": step.middle, "goal": step.goal}
        await self._ask(f"swap {' '.join(step)}", f"{door}/changes", body)
        self.edges = after(self.edges, step)
        self.swaps.append(step)
        self._audience.swapped(step, time.monotonic() - begun)

    async def _ask(self, what: str, url: str, body: dict[str, str]) -> None:
        answer = await self._http.post(url, json=body, timeout=SWAP_S_MAX)
        if answer.is_error:
            raise Failed(f"demo: {what}: {answer.json().get('error')}")


def _all_swaps(edges: Sequence[Edge]) -> list[Step]:
    adjacent = adjacency(edges)
    return [
        Step(mover, middle, goal)
        for middle in sorted(adjacent)
        for mover in sorted(adjacent[middle])
        for goal in sorted(adjacent[middle])
        if mover != goal
    ]
