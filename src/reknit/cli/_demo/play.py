"""The story of the demo: a network starts, clients talk, a broker dies and comes back, the tree becomes another one.

Owns: what happens, in which order. Must not know: how it is shown (see ``show``) or judged (see ``verdict``).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import httpx
import msgspec

from reknit.cli._demo.changes import Changes
from reknit.cli._demo.clients import Crowd, DemoClient, Sent, gathered
from reknit.cli._demo.history import causal_order
from reknit.cli._demo.verdict import (
    Away,
    Traffic,
    Verdict,
    count_traffic,
    delays,
    judge_clients,
    judge_trace,
    owed_marks,
    who_was_away,
)
from reknit.cli._demo.watch import OBSERVER, Watcher
from reknit.cli._demo.world import Role, World, cast, middle
from reknit.core.overlay.shapes import Edge, names, shape_edges
from reknit.core.overlay.swap import Step
from reknit.live.address import parse_address
from reknit.live.config import BrokerSection, LinkSection, MqttSection, NetworkFile, TraceSection
from reknit.live.network import Network
from reknit.live.plan import NetworkPlan, plan_network
from reknit.live.statefile import NetworkState
from reknit.trace.store import TraceWriter, read_trace

__all__ = ["Audience", "Outcome", "Script", "play"]

EVENTS_PER_S = 300
BEFORE_THE_KILL = 0.4
"""The part of the first flow that is published before a broker is killed."""
FIRST_FLOW = 0.6
SECOND_FLOW = 0.3
"""The parts of all events that the first two flows have; the rest flows when all is done."""
SWAPS = 6
"""Links that are swapped while the second flow goes on, and one more when a broker was added."""
ARRIVE_S_MAX = 10.0
SURPLUS_S = 0.3
"""How long it listens for copies that should not come."""
TRACE_LOST_S = 3.0
"""So much of the killed broker's trace may be missing, generously."""


@dataclass(frozen=True, slots=True)
class Script:
    """What is played. The same seed gives the same tree, clients and subscriptions."""

    seed: int = 12
    brokers: int = 5
    clients_per_broker: int = 4
    events: int = 3000
    directory: Path = Path("demo")
    """Where the trace goes, and the network's file."""


class Audience(Protocol):
    """Who is told what happens, while it does."""

    def network(self, edges: Sequence[Edge], state: NetworkState) -> None: ...

    def clients(self, roles: Sequence[Role]) -> None: ...

    def said(self, sent: Sent) -> None: ...

    def killed(self, name: str, pid: int) -> None: ...

    def healing(self, seconds: float, left: str) -> None: ...

    def healed(self, name: str, seconds: float) -> None: ...

    def swapped(self, step: Step, seconds: float) -> None: ...

    def added(self, name: str, neighbour: str, seconds: float) -> None: ...

    def drained(self, name: str, heir: str, seconds: float) -> None: ...

    def stage(self, what: str) -> None: ...


class Outcome(msgspec.Struct):
    seed: int
    links: list[Edge]
    killed: str
    back_s: float
    """From the death to the moment at which every link, client and table was as before."""
    trace: Verdict
    clients: Verdict
    away: Away
    traffic: Traffic
    delay_s: dict[str, float]
    swaps: list[Step] = []
    added: str = ""
    drained: str = ""
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        return self.trace.clean and self.clients.clean


@dataclass(frozen=True, slots=True)
class _Parts:
    """Brokers to which something happens."""

    victim: str
    newcomer: str
    leaver: str


@dataclass(slots=True)
class _Times:
    calms: list[float] = field(default_factory=list)
    crashed: float = 0.0
    healed: float = 0.0


async def play(script: Script, audience: Audience) -> Outcome:
    begun = time.monotonic()
    plan = _plan(script)
    rng = random.Random(f"{script.seed}/clients")
    victim = middle(plan.edges)
    known = [broker.name for broker in plan.brokers]
    elsewhere = next(name for name in reversed(known) if name != victim)
    leaver = next(name for name in known if name not in (victim, elsewhere))
    newcomer = f"b{len(known) + 1}"
    mosquitto_at = elsewhere if shutil.which("mosquitto_sub") else ""
    roles = cast([*known, newcomer], script.clients_per_broker, rng, mosquitto_at)
    audience.stage("starting the brokers")
    stage, clients = await _perform(script, plan, roles, _Parts(victim, newcomer, leaver), audience)
    times = stage.times
    audience.stage("reading the trace")
    records = causal_order(read_trace(_trace_directory(script)))
    notes = [client.notes for client in clients]
    taken = delays(notes)
    return Outcome(
        seed=script.seed,
        links=list(plan.edges),
        killed=victim,
        back_s=times.healed - times.crashed,
        trace=judge_trace(records, plan.settings.options, [client.role for client in clients]),
        clients=judge_clients(notes, times.calms),
        away=who_was_away(notes, *times.calms[:2]),
        traffic=count_traffic(records, plan.edges, (times.crashed - TRACE_LOST_S, times.calms[1])),
        delay_s={"half": taken[len(taken) // 2], "most": taken[len(taken) * 9 // 10], "all": taken[-1]},
        swaps=stage.swaps,
        added=newcomer,
        drained=leaver,
        seconds=time.monotonic() - begun,
    )


def _plan(script: Script) -> NetworkPlan:
    """A random tree, at ports that are free."""
    known = names(script.brokers)
    edges = shape_edges("random", known, random.Random(script.seed))
    file = NetworkFile(
        broker=[BrokerSection(name=name) for name in known],
        link=[LinkSection(a=a, b=b) for a, b in edges],
        trace=TraceSection(directory=str(_trace_directory(script))),
        mqtt=MqttSection(json_attributes=True),
    )
    return plan_network(file)


def _trace_directory(script: Script) -> Path:
    return script.directory.absolute() / "trace"


async def _perform(
    script: Script, plan: NetworkPlan, roles: Sequence[Role], parts: _Parts, audience: Audience
) -> tuple[_Stage, list[DemoClient]]:
    present = [role for role in roles if role.broker != parts.newcomer]
    async with (
        Network(plan, script.directory, lambda line: None) as network,
        httpx.AsyncClient(trust_env=False) as http,
    ):
        audience.network(plan.edges, network.state)
        with TraceWriter(_trace_directory(script), OBSERVER) as trace:
            watcher = Watcher(lambda: network.state, present, http, trace)
            async with gathered() as crowd:
                crowd.join(present, network.state)
                audience.clients(present)
                stage = _Stage(script, network, crowd, watcher, audience)
                await stage.run(parts.victim)
                change = Changes(network, http, plan.edges, random.Random(f"{script.seed}/changes"), audience)
                await stage.change(change, parts, [role for role in roles if role.broker == parts.newcomer], present)
                await stage.end()
                return stage, crowd.clients


class _Stage:
    def __init__(self, script: Script, network: Network, crowd: Crowd, watcher: Watcher, audience: Audience) -> None:
        self.script = script
        self.network = network
        self.crowd = crowd
        self.clients = crowd.clients
        self.watcher = watcher
        self.audience = audience
        self.times = _Times()
        self.swaps: list[Step] = []
        self._world = World(random.Random(f"{script.seed}/events"))
        self._said = 0

    async def run(self, victim: str) -> None:
        """The first flow, and a death."""
        first = int(self.script.events * FIRST_FLOW)
        self.times.calms.append(await self.watcher.until_calm())
        await self.watcher.until_written(_trace_directory(self.script))
        self.audience.stage(f"publishing about {EVENTS_PER_S} events a second")
        async with self._flowing(first) as flow:
            await self._until_said(int(first * BEFORE_THE_KILL), flow)
            await self._kill(victim)
        await self._rest()

    async def change(self, changes: Changes, parts: _Parts, roles: Sequence[Role], present: list[Role]) -> None:
        """The second flow, and a tree that becomes another one. ``roles``: who comes with the new broker."""
        self.audience.stage("publishing on, and changing the tree meanwhile")
        async with self._flowing(int(self.script.events * SECOND_FLOW)):
            await changes.swap_some(SWAPS // 2)
            await changes.add(parts.newcomer)
            self.crowd.join(roles, self.network.state)
            await self._drain(changes, parts.leaver)
            present[:] = [client.role for client in self.clients]
            await changes.swap_some(SWAPS - SWAPS // 2)
        self.swaps = changes.swaps
        await self._rest()

    async def _drain(self, changes: Changes, leaver: str) -> None:
        heir = self.network.state.broker(changes.heir_of(leaver))
        for client in self.clients:
            if client.role.broker == leaver:
                client.moves_to(heir.name, parse_address(heir.mqtt))
        await changes.drain(leaver)

    async def end(self) -> None:
        """The rest, with everybody there."""
        self.audience.stage("publishing the rest, with everybody there")
        await self._flow(self.script.events - self._said)
        await self._rest()

    async def _kill(self, victim: str) -> None:
        pid = self.network.state.broker(victim).pid
        os.kill(pid, signal.SIGKILL)
        self.times.crashed = await self.watcher.crashed(victim, pid)
        self.audience.killed(victim, pid)
        self.times.healed = await self.watcher.until_healed(
            lambda why: self.audience.healing(time.time() - self.times.crashed, why)
        )
        self.audience.healed(victim, self.times.healed - self.times.crashed)

    async def _rest(self) -> None:
        """All is calm, and what clients are owed has reached them; then a little longer, for what should not come."""
        self.audience.stage("letting everything come to rest")
        self.times.calms.append(await self.watcher.until_calm())
        limit = time.monotonic() + ARRIVE_S_MAX
        while time.monotonic() < limit and self._missing():  # noqa: ASYNC110  brokers and clients decide
            await asyncio.sleep(0.05)
        await asyncio.sleep(SURPLUS_S)

    def _missing(self) -> bool:
        notes = [client.notes for client in self.clients]
        return any(mark not in each.marks for each in notes for mark in owed_marks(each, notes, self.times.calms[-2:]))

    # --- the flow

    @contextlib.asynccontextmanager
    async def _flowing(self, events: int) -> AsyncIterator[asyncio.Task[None]]:
        """Inside, so many events are being published; at the end all are."""
        flow = asyncio.create_task(self._flow(events))
        try:
            yield flow
            await flow
        finally:
            flow.cancel()

    async def _flow(self, events: int) -> None:
        """As many events from all publishers together, each at an even pace of its own."""
        publishers = [client for client in self.clients if client.role.publishes]
        pace_s = len(publishers) / EVENTS_PER_S
        async with asyncio.TaskGroup() as group:
            for place, client in enumerate(publishers):
                share = events // len(publishers) + (place < events % len(publishers))
                group.create_task(self._speak(client, share, pace_s))

    async def _speak(self, client: DemoClient, share: int, pace_s: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        for _ in range(share):
            due = max(due + pace_s, loop.time())
            await asyncio.sleep(due - loop.time())
            sent = await client.publish(self._world)
            self._said += 1
            self.audience.said(sent)

    async def _until_said(self, count: int, flow: asyncio.Task[None]) -> None:
        while self._said < count and not flow.done():  # noqa: ASYNC110  a look now and then is exact enough
            await asyncio.sleep(0.01)
