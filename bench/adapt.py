"""``reknit adapt`` at a network of processes, by itself: a workload that swings, and one that is steady.

Owns: the network, who talks to whom, and what is looked for. Must not know: how it is decided.

Six brokers in a line. Everybody has a friend on one side and another one on the other side, both far away: at first all
talk to the one, then to the other, then to the first again. ``reknit adapt`` runs beside it as a process of its own,
from the trace that the brokers write, with Spark. It may change the tree once in each rest, and must never take up a
link again that it has given up. What is published meanwhile is counted by who gets it. Then all keep to one side, on a
line as at the beginning: what is crossed in a period falls.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.rows import INFORMATION, Row
from reknit import connect
from reknit.client import Client, Subscription
from reknit.live.address import parse_address
from reknit.live.config import NetworkFile, NetworkSection, TraceSection
from reknit.live.network import Network
from reknit.live.plan import plan_network

__all__ = ["Watched", "run"]

BROKERS = 6
SIDES = ((("b1", "b4"), ("b2", "b5"), ("b3", "b6")), (("b1", "b6"), ("b2", "b4"), ("b3", "b5")))
"""Friends, now and then."""
EVENTS_PER_S = 30
ARRIVE_S = 5.0
REST = 2
STEADY_MIN = 1.25
"""Crossings of the first period of steady traffic, to those of the last."""


@dataclass(frozen=True, slots=True)
class _Size:
    period_s: float
    swinging: int
    """Periods, of which each two are on one side."""
    steady: int


WHOLE = _Size(8.0, 16, 6)
QUICK = _Size(6.0, 4, 2)


def run(quick: bool = False) -> list[Row]:
    size = QUICK if quick else WHOLE
    swinging = asyncio.run(_trial(size, size.swinging, swings=True))
    steady = asyncio.run(_trial(size, size.steady, swings=False))
    return [*_judged(swinging, quick), _saved(steady, quick)]


# --- what is looked for


@dataclass(slots=True)
class Watched:
    """What a trial has shown."""

    links: frozenset[tuple[str, str]]
    """At the beginning."""
    periods: list[dict[str, Any]] = field(default_factory=list)
    owed: int = 0
    lost: int = 0
    doubled: int = 0

    def changes(self) -> list[tuple[int, list[tuple[str, str, str]]]]:
        """By period: the steps."""
        return [(each["period"], [tuple(step) for step in each["steps"]]) for each in self.periods if each.get("steps")]

    def too_soon(self, rest: int) -> int:
        """Changes that came before the rest after the one before was over."""
        return sum(1 for (before, _), (after, _) in pairwise(self.changes()) if after - before <= rest)

    def taken_again(self) -> int:
        """Links that were given up by one change and made by a later one."""
        tree, given_up, again = set(self.links), set[tuple[str, str]](), 0
        for _, steps in self.changes():
            before = set(tree)
            for mover, middle, goal in steps:
                tree.discard(_link(mover, middle))
                tree.add(_link(mover, goal))
            again += len((tree - before) & given_up)
            given_up |= before - tree
        return again


def _link(one: str, other: str) -> tuple[str, str]:
    return (min(one, other), max(one, other))


def _judged(seen: Watched, quick: bool) -> list[Row]:
    bar, changes = INFORMATION if quick else 1.0, seen.changes()
    trouble = [each["trouble"] for each in seen.periods if "trouble" in each]
    when = ", ".join(str(period) for period, _ in changes) or "none"
    said = f"{len(seen.periods)} periods, the side changes after each second; changes at the end of: {when}; {trouble}"
    soon, again = seen.too_soon(REST), seen.taken_again()
    heard = f"{seen.owed:,} deliveries owed, {seen.lost} lost, {seen.doubled} doubled"
    return [
        Row("adapt: changes too soon after another", "none = 1", bar, float(not soon and not trouble), said),
        Row("adapt: links taken up again", "none = 1", bar, float(not again), f"{again} links"),
        Row("adapt: events lost or doubled meanwhile", "none = 1", bar, float(not seen.lost + seen.doubled), heard),
    ]


def _saved(seen: Watched, quick: bool) -> Row:
    each = [period["crossings"] / max(period["events"], 1) for period in seen.periods if "crossings" in period]
    said = "crossings for each event, by period: " + ", ".join(f"{crossed:.2f}" for crossed in each)
    bar = INFORMATION if quick else STEADY_MIN
    return Row("adapt: steady traffic", "the first period", bar, each[0] / each[-1], said)


# --- a trial


async def _trial(size: _Size, periods: int, swings: bool) -> Watched:
    with tempfile.TemporaryDirectory(prefix="reknit-bench-") as name:
        directory = Path(name)
        section = NetworkSection(brokers=BROKERS, shape="line")
        file = NetworkFile(network=section, trace=TraceSection(directory=str(directory / "trace")))
        plan = plan_network(file)
        async with Network(plan, directory, lambda line: None) as network, contextlib.AsyncExitStack() as stack:
            seen = Watched(frozenset(_link(*edge) for edge in plan.edges))
            ports = {broker.name: parse_address(broker.mqtt).port for broker in network.state.brokers}
            talk = await stack.enter_async_context(_talking(ports))
            speaking = asyncio.create_task(talk.speak(size.period_s, swings))
            await _adapt(directory, size.period_s, periods, seen)
            speaking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await speaking
            await asyncio.sleep(ARRIVE_S)
            seen.owed, seen.lost, seen.doubled = talk.judged()
            return seen


async def _adapt(directory: Path, period_s: float, periods: int, seen: Watched) -> None:
    words = ["adapt", "--trace", "trace", "--period-s", f"{period_s:g}", "--periods", str(periods)]
    words += ["--rest", str(REST), "--state", "adapt.state", "--master", "local[1]", "--json"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "reknit", *words, cwd=directory, stdout=pipe, stderr=pipe
    )
    assert process.stdout is not None
    async for line in process.stdout:
        said = json.loads(line)
        if "period" in said:
            seen.periods.append(said)
    if await process.wait():
        assert process.stderr is not None
        raise RuntimeError(f"reknit adapt failed: {(await process.stderr.read())[-500:].decode()}")


@dataclass(slots=True)
class _Talk:
    """Who speaks to whom, and what has come."""

    clients: dict[str, Client]
    sent: Counter[str] = field(default_factory=Counter)
    """By topic."""
    heard: dict[tuple[str, str], Counter[int]] = field(default_factory=dict)
    """By broker and topic: how often each event came."""

    async def speak(self, period_s: float, swings: bool) -> None:
        """An event of each friend after the other, at an even pace; two periods to one side, two to the other."""
        clock, begun = asyncio.get_running_loop(), asyncio.get_running_loop().time()
        due = begun
        while True:
            pairs = SIDES[int((due - begun) / (2 * period_s)) % 2 if swings else 0]
            for pair in pairs:
                for broker in pair:
                    topic = _topic(pair)
                    self.sent[topic] += 1
                    await self.clients[broker].publish(topic, str(self.sent[topic]).encode(), qos=1)
                    due += 1 / EVENTS_PER_S
                    await asyncio.sleep(max(0.0, due - clock.time()))

    async def hear(self, broker: str, topic: str, events: Subscription) -> None:
        counted = self.heard.setdefault((broker, topic), Counter())
        async for event in events:
            counted[int(event.payload)] += 1

    def judged(self) -> tuple[int, int, int]:
        """Deliveries owed, lost, doubled. The last event of a topic may not have been taken over when all ended."""
        owed = lost = doubled = 0
        for (_, topic), counted in self.heard.items():
            numbers = range(1, self.sent[topic])
            owed += len(numbers)
            lost += sum(1 for number in numbers if not counted[number])
            doubled += sum(count - 1 for count in counted.values() if count > 1)
        return owed, lost, doubled


def _topic(pair: Sequence[str]) -> str:
    return f"friends/{pair[0]}/{pair[1]}"


@contextlib.asynccontextmanager
async def _talking(ports: dict[str, int]) -> AsyncIterator[_Talk]:
    """A client at each broker, that wants what is said to it and what it says."""
    async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        talk = _Talk(
            {name: await stack.enter_async_context(connect("127.0.0.1", port)) for name, port in ports.items()}
        )
        tasks = []
        for pair in (pair for side in SIDES for pair in side):
            for broker in pair:
                events = await stack.enter_async_context(talk.clients[broker].subscribe(_topic(pair), qos=1))
                tasks.append(group.create_task(talk.hear(broker, _topic(pair), events)))
        yield talk
        for task in tasks:
            task.cancel()
