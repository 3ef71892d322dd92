"""Five broker processes under load, while their tree changes a hundred times; and one swap by itself.

Owns: the network, the swaps, and the rows. Must not know: how the load judges what it hears (``crowd``).

The first part asks whether anything is lost, doubled or disordered, and whether events are slower while a swap is under
way: half of those that were sent during a swap arrive within which time, beside the worse of the time before the
first swap and the time after the last. The second part has tables with a thousand patterns and no load: how long does
a swap take, from the operator's request to the answer, and does the trace show that a fourth broker had to do with it?
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from array import array
from bisect import bisect_right
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx
import msgspec

from bench.crowd import Crowd, Heard, gather, hear_out
from bench.rows import INFORMATION, Row
from reknit.client import connect
from reknit.core.overlay.shapes import Edge, adjacency, names, shape_edges
from reknit.core.overlay.swap import Step, after
from reknit.live.address import parse_address
from reknit.live.config import BrokerSection, LinkSection, NetworkFile, TraceSection
from reknit.live.network import Network
from reknit.live.plan import plan_network
from reknit.trace.records import Kind
from reknit.trace.store import read_trace

__all__ = ["run"]

BROKERS = 5
SLOWER_MAX = 1.5
SWAP_MS_MAX = 50.0
PATTERNS = 1000
SWAP_S_MAX = 30.0
REST_S = 0.2
TRACED_SWAPS = 10
_TOUCHES = (Kind.CHANGE, Kind.ROUTE_ADDED, Kind.ROUTE_REMOVED, Kind.LINK_MOVED, Kind.LINK_HANDED, Kind.LINK_TAKEN)


@dataclass(frozen=True, slots=True)
class _Size:
    swaps: int
    deliveries: int
    events_per_s: int
    subscribers_per_broker: int
    beside_s: float
    """How long it flows before the first swap, and after the last."""
    alone: int
    """Swaps that are measured without load."""
    selectors: int


WHOLE = _Size(100, 1_000_000, 600, 10, 6.0, 50, 4_000)
QUICK = _Size(5, 10_000, 200, 2, 1.0, 5, 100)


def run(quick: bool = False) -> list[Row]:
    size = QUICK if quick else WHOLE
    with tempfile.TemporaryDirectory(prefix="reknit-bench-") as name:
        return [*asyncio.run(_under_load(size, Path(name), quick)), *asyncio.run(_alone(size, Path(name), quick))]


# --- a network whose links are swapped


class _Doors:
    """Operators' doors, asked in as few words as will do over connections that stay open.

    A request by ``httpx`` takes about as much processor time as a broker's whole part in a swap. Where operator, load
    and brokers share two cores, events would wait for the operator's program.
    """

    def __init__(self) -> None:
        self._open: dict[str, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}

    async def ask(self, admin: str, path: str, body: object) -> None:
        at = admin.removeprefix("http://")
        if at in self._open and self._open[at][0].at_eof():
            self._open.pop(at)[1].close()
        if at not in self._open:
            self._open[at] = await asyncio.open_connection(*parse_address(at))
        reader, writer = self._open[at]
        said = msgspec.json.encode(body)
        head = f"POST {path} HTTP/1.1\r\nHost: {at}\r\nContent-Length: {len(said)}\r\n\r\n"
        writer.write(head.encode() + said)
        async with asyncio.timeout(SWAP_S_MAX):
            told = await reader.readuntil(b"\r\n\r\n")
            answer = await reader.readexactly(int(told.lower().partition(b"content-length:")[2].split()[0]))
        if not told.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"{admin}{path}: {answer.decode()}")

    def close(self) -> None:
        for _, writer in self._open.values():
            writer.close()


class _Net:
    def __init__(self, network: Network, edges: Sequence[Edge], http: httpx.AsyncClient) -> None:
        self.network = network
        self.edges = list(edges)
        self.http = http
        self.doors = _Doors()
        self.rng = random.Random(1)

    async def swap(self) -> tuple[Step, float, float]:
        """Some link; which one, when it began, and when it was done."""
        adjacent = adjacency(self.edges)
        step = self.rng.choice(
            [Step(a, b, c) for b in sorted(adjacent) for a in adjacent[b] for c in adjacent[b] if a != c]
        )
        begun = time.monotonic()
        body = {"kind": "swap", "middle": step.middle, "goal": step.goal}
        await self.doors.ask(self.network.state.broker(step.mover).admin, "/changes", body)
        self.edges = after(self.edges, step)
        return step, begun, time.monotonic()


@asynccontextmanager
async def _network(directory: Path, trace: str = "") -> AsyncIterator[_Net]:
    known = names(BROKERS)
    edges = shape_edges("random", known, random.Random(1))
    file = NetworkFile(
        broker=[BrokerSection(name=name) for name in known],
        link=[LinkSection(a=a, b=b) for a, b in edges],
        trace=TraceSection(directory=trace),
    )
    plan = plan_network(file)
    async with (
        Network(plan, directory, lambda line: None) as network,
        httpx.AsyncClient(trust_env=False, timeout=SWAP_S_MAX) as http,
    ):
        net = _Net(network, edges, http)
        try:
            yield net
        finally:
            net.doors.close()


# --- under load


async def _under_load(size: _Size, directory: Path, quick: bool) -> list[Row]:
    delays = directory / "delays"
    async with _network(directory) as net:
        ports = [parse_address(broker.mqtt).port for broker in net.network.state.brokers]
        crowd = Crowd(ports, size.subscribers_per_broker, size.events_per_s, str(delays))
        process = await gather(crowd)
        await asyncio.sleep(size.beside_s)
        swaps = await _swap_evenly(net, size)
        await asyncio.sleep(size.beside_s)
        heard = await hear_out(process)
    return [_enough(heard, size, quick), _judged(heard, swaps, quick), _slower(delays, swaps, quick)]


async def _swap_evenly(net: _Net, size: _Size) -> list[tuple[float, float]]:
    """Over as long as so many deliveries take; when each began and ended."""
    deliveries_per_s = size.events_per_s * size.subscribers_per_broker * BROKERS
    pace_s = size.deliveries / deliveries_per_s / size.swaps
    due, swaps = time.monotonic(), []
    for _ in range(size.swaps):
        await asyncio.sleep(max(due - time.monotonic(), 0))
        _, begun, ended = await net.swap()
        swaps.append((begun, ended))
        due += pace_s
    await asyncio.sleep(max(due - time.monotonic(), 0))
    return swaps


def _enough(heard: Heard, size: _Size, quick: bool) -> Row:
    """A verdict over fewer would be over less than was promised."""
    note = f"{heard.received:,} deliveries of {heard.sent:,} events"
    measure, ratio = "deliveries while links are swapped", heard.received / size.deliveries
    return Row(measure, f"{size.deliveries:,} = 1", INFORMATION if quick else 1.0, ratio, note)


def _judged(heard: Heard, swaps: Sequence[tuple[float, float]], quick: bool) -> Row:
    wrong = heard.lost + heard.duplicated + heard.out_of_order
    took = sorted(ended - begun for begun, ended in swaps)
    note = (
        f"{heard.received:,} deliveries of {heard.sent:,} events: lost {heard.lost}, doubled {heard.duplicated}, "
        f"out of order {heard.out_of_order}; a swap took {median(took) * 1e3:.0f} ms, "
        f"the longest {took[-1] * 1e3:.0f} ms"
    )
    measure = f"{len(swaps)} swaps in a row under load: deliveries that are right"
    return Row(measure, "all that are owed = 1", INFORMATION if quick else 1.0, 1 - wrong / heard.owed, note)


def _slower(delays: Path, swaps: Sequence[tuple[float, float]], quick: bool) -> Row:
    sent, took = _read(delays)
    begins = [begun for begun, _ in swaps]
    before, during, later = list[float](), list[float](), list[float]()
    for at, delay in zip(sent, took, strict=True):
        place = bisect_right(begins, at) - 1
        if place < 0:
            before.append(delay)
        elif at <= swaps[place][1]:
            during.append(delay)
        elif at > swaps[-1][1]:
            later.append(delay)
    halves = [median(each) * 1e3 for each in (before, during, later)]
    note = "p50 before {:.2f} ms, during {:.2f} ms, after {:.2f} ms".format(*halves)
    note += f" ({len(during):,} deliveries were sent during a swap)"
    measure = f"p50 delay while a swap is under way (at most {SLOWER_MAX:g} times)"
    ratio = max(halves[0], halves[2]) / halves[1]
    return Row(measure, "worse of before and after = 1", INFORMATION if quick else 1 / SLOWER_MAX, ratio, note)


def _read(delays: Path) -> tuple[array[float], array[float]]:
    both = array("d")
    both.frombytes(delays.read_bytes())
    return both[0::2], both[1::2]


# --- one swap by itself


async def _alone(size: _Size, directory: Path, quick: bool) -> list[Row]:
    async with _network(directory) as net, _patterns(net):
        took = sorted([await _one(net) for _ in range(size.alone)])
        async with _selectors(net, size.selectors):
            read = sorted([await _one(net) for _ in range(size.alone)])
    trace = directory / "trace"
    async with _network(directory, str(trace)) as net, _patterns(net):
        steps = []
        for _ in range(min(size.alone, TRACED_SWAPS)):
            begun = time.time()
            step, _, _ = await net.swap()
            await asyncio.sleep(REST_S)
            steps.append((begun, step))
        steps.append((time.time(), Step("", "", "")))  # what comes later is the end of the clients
    measure = "one swap, {:,} patterns in the tables{}, request to answer"
    return [
        *_quick_enough(measure.format(PATTERNS, ""), took, INFORMATION if quick else 1.0),
        *_quick_enough(measure.format(PATTERNS + size.selectors, f", {size.selectors:,} selectors"), read, INFORMATION),
        _touched(trace, steps, quick),
    ]


def _quick_enough(measure: str, took: Sequence[float], bar: float) -> list[Row]:
    """By the middle one; the longest is there to be read, for it tells as much of the machine as of the brokers."""
    peer, late = f"{SWAP_MS_MAX:g} ms = 1", sum(each * 1e3 > SWAP_MS_MAX for each in took)
    middle = Row(
        measure, peer, bar, SWAP_MS_MAX / 1e3 / median(took), f"median of {len(took)}: {median(took) * 1e3:.1f} ms"
    )
    note = f"{max(took) * 1e3:.1f} ms; {late} of {len(took)} took longer than {SWAP_MS_MAX:g} ms"
    return [middle, Row(f"{measure}: the longest", peer, INFORMATION, SWAP_MS_MAX / 1e3 / max(took), note)]


async def _one(net: _Net) -> float:
    _, begun, ended = await net.swap()
    await asyncio.sleep(REST_S)
    return ended - begun


@asynccontextmanager
async def _patterns(net: _Net) -> AsyncIterator[None]:
    """A client at each broker wants its share of the patterns, and every table knows of all."""
    share = PATTERNS // BROKERS
    async with AsyncExitStack() as stack:
        for broker in net.network.state.brokers:
            client = await stack.enter_async_context(connect(*parse_address(broker.mqtt)))
            topics = [f"alone/{broker.name}/{number}" for number in range(share)]
            await stack.enter_async_context(client.subscribe(*topics))
        await _known_to_all(net, PATTERNS)
        yield


@asynccontextmanager
async def _selectors(net: _Net, count: int) -> AsyncIterator[None]:
    """So many patterns more, each with a selector of its own, which differ from broker to broker."""
    async with AsyncExitStack() as stack:
        for place, broker in enumerate(net.network.state.brokers):
            client = await stack.enter_async_context(connect(*parse_address(broker.mqtt)))
            for number in range(place, count, BROKERS):
                where = f"number BETWEEN {number} AND {number + 9} AND region = 'north' AND level > 3"
                await stack.enter_async_context(client.subscribe(f"alone/selected/{number}", where=where))
        await _known_to_all(net, PATTERNS + count)
        yield


async def _known_to_all(net: _Net, patterns: int) -> None:
    for broker in net.network.state.brokers:
        while len((await net.http.get(broker.admin + "/table")).json()["entries"]) < patterns:  # noqa: ASYNC110
            await asyncio.sleep(REST_S)


def _touched(trace: Path, steps: Sequence[tuple[float, Step]], quick: bool) -> Row:
    """The most brokers that one swap has made change or say anything about the tree or the routes."""
    begins = [begun for begun, _ in steps]
    touched: list[set[str]] = [set() for _ in steps]
    for record in read_trace(trace):
        place = bisect_right(begins, record.time) - 1
        if place >= 0 and record.kind in _TOUCHES:
            touched[place].add(record.node)
    touched.pop()
    strangers = [found - set(step) for found, (_, step) in zip(touched, steps, strict=False)]
    most = max(map(len, touched))
    note = f"{len(touched)} swaps by the trace; brokers besides the three: {sum(map(len, strangers))}"
    return Row("brokers that one swap touches", "3 = 1", INFORMATION if quick else 1.0, len(Step._fields) / most, note)
