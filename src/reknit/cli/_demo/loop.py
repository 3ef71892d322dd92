"""The loop: what a network saw becomes a plan on Spark, the plan changes the network, and what it saves is measured.

Owns: the order of things, and what is measured. Must not know: how it is shown (see ``report`` and the verb).

Three flows with the same shape of traffic, each drawn anew: one that is watched on a bad tree; one while the plan is
carried out, swap after swap; one on the tree that the plan has made. The prediction rests on the first, the
measurement on the third, and nothing may be lost in any of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import httpx
import msgspec

from reknit.cli._crossings import Crossings, crossings
from reknit.cli._demo.changes import Changes
from reknit.cli._demo.clients import Crowd, DemoClient, gathered
from reknit.cli._demo.friends import Friends, friends, line, shares
from reknit.cli._demo.history import causal_order
from reknit.cli._demo.shape import EDITS, Shape
from reknit.cli._demo.verdict import Verdict, judge_clients, judge_trace, owed_marks
from reknit.cli._demo.watch import OBSERVER, Watcher
from reknit.cli._problem import Failed
from reknit.core.overlay.shapes import Edge, names
from reknit.core.overlay.swap import Step
from reknit.live.config import BrokerSection, LinkSection, MqttSection, NetworkFile, TraceSection
from reknit.live.network import Network
from reknit.live.plan import NetworkPlan, plan_network
from reknit.planning.plan import Plan, Rules
from reknit.trace.records import Kind
from reknit.trace.store import TraceWriter, read_trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LoopOutcome", "LoopScript", "play_loop"]

EVENTS_PER_S = 400
WATCHED, MEANWHILE, MEASURED = 0.4, 0.2, 0.4
"""The parts of all events that the three flows have."""
SAVED_MIN = 0.25
OFF_MAX = 0.05
"""What the loop has to reach: crossings of links saved, and how far the prediction may be off."""
ARRIVE_S_MAX = 20.0
SURPLUS_S = 0.3
WRITTEN_S_MAX = 30.0
POLL_S = 0.2

Tell = Callable[[str], None]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class LoopScript:
    seed: int = 12
    brokers: int = 8
    events: int = 9000
    directory: Path = Path("demo")
    master: str = "local[2]"
    shape: Shape = EDITS


class LoopOutcome(msgspec.Struct):
    seed: int
    before: list[Edge]
    after: list[Edge]
    plan: Plan
    watched: Crossings
    measured: Crossings
    trace: Verdict
    clients: Verdict
    spark: dict[str, int]
    """What the flow ``verdict`` has counted: everything that is wrong, by kind."""
    seconds: float = 0.0

    @property
    def predicted(self) -> float:
        """Crossings for each event."""
        return self.plan.cost_after / max(self.plan.evidence.events, 1)

    @property
    def saved(self) -> float:
        return 1 - self.measured.per_event / self.watched.per_event if self.watched.crossed else 0.0

    @property
    def off(self) -> float:
        """How far the prediction is from what was measured then, as a part of that."""
        return abs(self.predicted / self.measured.per_event - 1) if self.measured.crossed else 1.0

    @property
    def clean(self) -> bool:
        return self.trace.clean and self.clients.clean and not any(self.spark.values())

    @property
    def reached(self) -> bool:
        return self.clean and self.saved >= SAVED_MIN and self.off <= OFF_MAX


async def play_loop(script: LoopScript, tell: Tell) -> LoopOutcome:
    begun = time.monotonic()
    plan = _network(script)
    async with _Spark(script.master) as spark:
        stage = await _perform(script, plan, spark, tell)
        tell("judging the trace, in plain Python and on Spark")
        records = causal_order(read_trace(_trace(script)))
        found = await spark.run(_judge_on_spark, script)
    assert stage.plan is not None
    notes = [client.notes for client in stage.crowd.clients]
    return LoopOutcome(
        seed=script.seed,
        before=list(plan.edges),
        after=stage.edges,
        plan=stage.plan,
        watched=crossings(records, *stage.calms[0:2]),
        measured=crossings(records, *stage.calms[2:4]),
        trace=judge_trace(records, plan.settings.options, [client.role for client in stage.crowd.clients]),
        clients=judge_clients(notes, stage.calms),
        spark=found,
        seconds=time.monotonic() - begun,
    )


# --- the network


def _network(script: LoopScript) -> NetworkPlan:
    file = NetworkFile(
        broker=[BrokerSection(name=name) for name in names(script.brokers)],
        link=[LinkSection(a=a, b=b) for a, b in line(script.brokers)],
        trace=TraceSection(directory=str(_trace(script))),
        mqtt=MqttSection(json_attributes=True),
    )
    return plan_network(file)


def _trace(script: LoopScript) -> Path:
    return script.directory.absolute() / "trace"


async def _perform(script: LoopScript, plan: NetworkPlan, spark: _Spark, tell: Tell) -> _Stage:
    roles = friends([broker.name for broker in plan.brokers])
    async with (
        Network(plan, script.directory, lambda line: None) as network,
        httpx.AsyncClient(trust_env=False) as http,
    ):
        with TraceWriter(_trace(script), OBSERVER) as trace:
            watcher = Watcher(lambda: network.state, roles, http, trace)
            async with gathered() as crowd:
                crowd.join(roles, network.state)
                tell(f"{len(plan.brokers)} brokers in a line, {len(roles)} clients; friends are far from each other")
                stage = _Stage(script, crowd, watcher, tell)
                changes = Changes(network, http, plan.edges, random.Random(script.seed), _Audience(tell))
                await stage.run(spark, changes)
                return stage


class _Audience:
    """Of changes."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def swapped(self, step: Step, seconds: float) -> None:
        mover, middle, goal = step
        self._tell(f"  swapped in {seconds * 1e3:.0f} ms: {mover} - {middle} has become {mover} - {goal}")

    def added(self, name: str, neighbour: str, seconds: float) -> None: ...

    def drained(self, name: str, heir: str, seconds: float) -> None: ...


class _Stage:
    def __init__(self, script: LoopScript, crowd: Crowd, watcher: Watcher, tell: Tell) -> None:
        self.script = script
        self.crowd = crowd
        self.watcher = watcher
        self.tell = tell
        self.calms: list[float] = []
        self.plan: Plan | None = None
        self.edges: list[Edge] = []
        self._rng = random.Random(f"{script.seed}/loop")
        rooms = [client.role.home for client in crowd.clients]
        self._world = Friends(random.Random(f"{script.seed}/talk"), rooms, script.shape)
        self._said = 0

    async def run(self, spark: _Spark, changes: Changes) -> None:
        self.calms.append(await self.watcher.until_calm())
        spark.begin()  # it takes its time; events flow meanwhile
        self.tell(f"watching: about {EVENTS_PER_S} events a second")
        await self._flow(WATCHED)
        await self._rest()
        await self._until_written()
        self.tell("planning on Spark")
        self.plan = plan = await spark.run(_plan_on_spark, self.script)
        cost = f"{plan.cost_before:,} crossings of links become {plan.cost_after:,}"
        self.tell(f"a plan of {len(plan.steps)} swaps: {cost}, says the plan")
        self.tell("carrying it out while events flow")
        flow = asyncio.create_task(self._flow(MEANWHILE))
        try:
            await changes.swap_all([Step(step.mover, step.middle, step.goal) for step in plan.steps])
            await flow
        finally:
            flow.cancel()
        self.edges = sorted((min(edge), max(edge)) for edge in changes.edges)
        await self._rest()
        self.tell("measuring, on the new tree")
        await self._flow(MEASURED)
        await self._rest()

    async def _flow(self, part: float) -> None:
        events = int(self.script.events * part)
        due = shares([client.role for client in self.crowd.clients], events, self._rng, self.script.shape)
        async with asyncio.TaskGroup() as group:
            for client in self.crowd.clients:
                if count := due.get(client.role.name, 0):
                    group.create_task(self._speak(client, count, events / EVENTS_PER_S / count))

    async def _speak(self, client: DemoClient, count: int, pace_s: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        for _ in range(count):
            due = max(due + self._world.gap(pace_s), loop.time())
            await asyncio.sleep(due - loop.time())
            await client.publish(self._world)
            self._said += 1

    async def _rest(self) -> None:
        """All is calm, and what clients are owed has come; then a little longer, for what should not come."""
        self.calms.append(await self.watcher.until_calm())
        limit = time.monotonic() + ARRIVE_S_MAX
        while time.monotonic() < limit and self._missing():  # noqa: ASYNC110  brokers and clients decide
            await asyncio.sleep(POLL_S)
        await asyncio.sleep(SURPLUS_S)

    def _missing(self) -> bool:
        notes = [client.notes for client in self.crowd.clients]
        return any(mark not in each.marks for each in notes for mark in owed_marks(each, notes, self.calms[-2:]))

    async def _until_written(self) -> None:
        """Of each event, that it was published and what was delivered; a plan needs no more."""
        received = sum(len(client.notes.received) for client in self.crowd.clients)
        limit = time.monotonic() + WRITTEN_S_MAX
        while time.monotonic() < limit:
            kinds = Counter(record.kind for record in read_trace(_trace(self.script)))
            if kinds[Kind.PUBLISHED] >= self._said and kinds[Kind.DELIVERED] >= received:
                return
            await asyncio.sleep(POLL_S)
        raise Failed(f"demo: the trace was not written within {WRITTEN_S_MAX:g} s")


# --- Spark


class _Spark:
    """A session that is started in a thread of its own, when it is time, and stopped at the end."""

    def __init__(self, master: str) -> None:
        self._master = master
        self._stack = contextlib.ExitStack()
        self._starting: asyncio.Task[Any] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._starting is not None:
            await asyncio.wait([self._starting])
        await asyncio.to_thread(self._stack.close)

    def begin(self) -> None:
        from reknit.pipeline.session import Place, session

        place = Place(master=self._master, name="reknit demo")
        self._starting = asyncio.create_task(asyncio.to_thread(self._stack.enter_context, session(place)))

    async def run(self, what: Callable[[SparkSession, LoopScript], _T], script: LoopScript) -> _T:
        assert self._starting is not None
        return await asyncio.to_thread(what, await self._starting, script)


def _plan_on_spark(spark: SparkSession, script: LoopScript) -> Plan:
    from reknit.pipeline.flows.plan import FLOW
    from reknit.pipeline.plan import Planned, plan_of
    from reknit.pipeline.run import Order, run_flow

    out = str(script.directory.absolute() / "tables" / "plan")
    run_flow(spark, Order(FLOW, Planned(), {"trace": str(_trace(script))}, out))
    flows, links, wanted = (spark.read.parquet(f"{out}/{name}") for name in ("flows", "links", "wanted"))
    return plan_of(flows, links, wanted, Rules(seed=script.seed))


def _judge_on_spark(spark: SparkSession, script: LoopScript) -> dict[str, int]:
    from reknit.pipeline.flows.verdict import FLOW
    from reknit.pipeline.run import Order, run_flow
    from reknit.pipeline.verdict import WRONG, Judged

    out = str(script.directory.absolute() / "tables" / "verdict")
    run_flow(spark, Order(FLOW, Judged(), {"trace": str(_trace(script))}, out))
    (row,) = spark.read.parquet(f"{out}/verdicts").collect()
    return {name: int(row[name]) for name in (*(each.replace(" ", "_") for each in WRONG), "not_judged")}
