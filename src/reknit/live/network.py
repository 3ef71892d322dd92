"""A whole network on this machine: each broker a process, looked after until it is told to end.

Owns: starting, waiting until all is ready, restarting what dies, ending. Must not know: the protocol; it sees
processes and their operators' doors.

A broker that ends by itself is restarted, after a wait that doubles each time, and that is counted. A broker that
says that its input is bad (exit code 2: a taken port, say) would say so again, so it ends the network instead. A
restarted broker is given the links that its neighbours have *now*, since they may have been changed since the start.
What brokers say is relayed once all are ready, and until the end begins: before and after, links come and go anyway.
Brokers run in sessions of their own, so that Ctrl-C reaches this process only, and hold the end of a pipe whose other
end is here, so that none of them outlives it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from reknit.core.overlay.shapes import Edge
from reknit.live.errors import ConfigError, StartFailed
from reknit.live.plan import NetworkPlan, PlannedBroker, broker_command, neighbours_of
from reknit.live.statefile import BrokerState, NetworkState, claim, remove_state, write_state

__all__ = ["Network", "run_network"]

RESTART_S_MIN = 0.2
RESTART_S_MAX = 10.0
CALM_S = 30.0
"""A broker that has lived so long is restarted without delay again."""
READY_S_MAX = 30.0
READY_S_PER_BROKER = 2.0
READY_POLL_S = 0.05
STOP_S_MAX = 15.0
"""How long a broker may take to end, which includes writing what is pending of its trace."""
ASK_S_MAX = 2.0
SAID_CHARS_MAX = 2000
EXIT_BAD_INPUT = 2

Say = Callable[[str], None]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class _Child:
    """One broker's process, over all its lives."""

    def __init__(self, planned: PlannedBroker) -> None:
        self.planned = planned
        self.process: Process | None = None
        self.restarts = 0
        self.last_words = ""

    @property
    def pid(self) -> int:
        return self.process.pid if self.process is not None else 0

    async def live(self, command: list[str], born: Callable[[], None], say: Say) -> int:
        """Start it, relay what it says, and return its exit code once it has ended."""
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=DEVNULL, stderr=PIPE, start_new_session=True
        )
        self.process = process
        born()
        assert process.stderr is not None
        rest = ""
        while chunk := await process.stderr.read(SAID_CHARS_MAX):
            *lines, rest = (rest + chunk.decode(errors="replace"))[-SAID_CHARS_MAX:].split("\n")
            for line in lines:
                self.last_words = line
                say(f"{self.planned.name}: {line}")
        return await process.wait()

    def signal(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)


class Network:
    """``async with Network(plan, directory) as network``: inside, all brokers are ready; after it, all are gone."""

    def __init__(self, plan: NetworkPlan, directory: Path, say: Say = _say) -> None:
        self._plan = plan
        self._directory = directory
        self._say = say
        self._edges: Sequence[Edge] = plan.edges
        self._children = {broker.name: _Child(broker) for broker in plan.brokers}
        self._tasks: list[asyncio.Task[None]] = []
        self._watches: set[asyncio.Task[None]] = set()
        self._file: Path | None = None
        self._ready = False
        self._stopping = False
        self._failure: asyncio.Future[None]

    async def __aenter__(self) -> Self:
        self._failure = asyncio.get_running_loop().create_future()
        self._file = claim(self._directory)
        try:
            self._tasks = [asyncio.create_task(self._keep(child)) for child in self._children.values()]
            await self._until_ready()
            self._ready = True
            self._write()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    @property
    def state(self) -> NetworkState:
        """What the file says: who runs where."""
        brokers = [
            BrokerState(
                name=name,
                pid=child.pid,
                mqtt=str(child.planned.mqtt),
                listen=str(child.planned.listen),
                admin=child.planned.admin_url,
                restarts=child.restarts,
            )
            for name, child in self._children.items()
        ]
        return NetworkState(pid=os.getpid(), brokers=brokers, links=list(self._edges))

    async def failure(self) -> None:
        """Return never; raise what the network cannot go on with."""
        await asyncio.shield(self._failure)

    # --- keeping

    async def _keep(self, child: _Child) -> None:
        try:
            await self._keep_alive(child)
        except OSError as error:  # no more processes or files: the network cannot go on either
            if not self._failure.done():
                self._failure.set_exception(StartFailed(f"{child.planned.name}: {error}"))

    async def _keep_alive(self, child: _Child) -> None:
        loop = asyncio.get_running_loop()
        delay_s = RESTART_S_MIN
        while not self._stopping:
            born = loop.time()
            code = await child.live(self._command(child), self._write, self._relay)
            if self._stopping or self._hopeless(child, code):
                return
            delay_s = RESTART_S_MIN if loop.time() - born > CALM_S else delay_s
            self._say(f"{child.planned.name}: ended with code {code}; restarting in {delay_s:g} s")
            await asyncio.sleep(delay_s)
            delay_s = min(delay_s * 2, RESTART_S_MAX)
            child.restarts += 1
            self._edges = await self._current_edges(child.planned.name)
            self._watch(child)

    def _relay(self, line: str) -> None:
        if self._ready and not self._stopping:
            self._say(line)

    def _watch(self, child: _Child) -> None:
        """Say when a broker that was restarted is ready, unless it has died again before."""
        task = asyncio.create_task(self._until_back(child, child.restarts))
        self._watches.add(task)
        task.add_done_callback(self._watches.discard)

    async def _until_back(self, child: _Child, restarts: int) -> None:
        async with httpx.AsyncClient(timeout=ASK_S_MAX, trust_env=False) as http:
            while child.restarts == restarts and not self._stopping:
                if await _ask(http, child.planned.admin_url + "/readyz"):
                    self._relay(f"{child.planned.name} is back")
                    return
                await asyncio.sleep(READY_POLL_S)

    def _hopeless(self, child: _Child, code: int) -> bool:
        """Whether a restart would end the same way, or the network has never begun."""
        if self._ready and code != EXIT_BAD_INPUT:
            return False
        words = child.last_words or f"ended with code {code}"
        if not self._failure.done():
            kind = ConfigError if code == EXIT_BAD_INPUT else StartFailed
            self._failure.set_exception(kind(f"{child.planned.name}: {words.removeprefix('reknit: ')}"))
        return True

    def _command(self, child: _Child) -> list[str]:
        neighbours = neighbours_of(child.planned.name, self._edges, self._plan.brokers)
        return broker_command(child.planned, neighbours, self._plan.settings)

    async def _current_edges(self, dead: str) -> list[Edge]:
        """The links as the living see them; of a link whose ends are both silent, what was known before."""
        seen: dict[str, list[str]] = {}
        async with httpx.AsyncClient(timeout=ASK_S_MAX, trust_env=False) as http:
            for name, child in self._children.items():
                if name != dead and (said := await _ask(http, child.planned.admin_url + "/topology")):
                    seen[name] = list(said["neighbours"])
        kept = [(a, b) for a, b in self._edges if a not in seen and b not in seen]
        known = {frozenset(edge) for edge in kept}
        for name, others in seen.items():
            for other in others:
                if frozenset((name, other)) not in known and other in self._children:
                    known.add(frozenset((name, other)))
                    kept.append((name, other))
        return kept

    def _write(self) -> None:
        if self._file is not None and self._ready and not self._stopping:
            write_state(self._file, self.state)

    # --- starting and ending

    async def _until_ready(self) -> None:
        limit_s = READY_S_MAX + READY_S_PER_BROKER * len(self._children)
        polling = asyncio.create_task(self._poll())
        try:
            await asyncio.wait({polling, self._failure}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            if self._failure.done():
                self._failure.result()
            if not polling.done():
                raise StartFailed(f"the network was not ready within {limit_s:g} s")
            polling.result()
        finally:
            polling.cancel()

    async def _poll(self) -> None:
        async with httpx.AsyncClient(timeout=ASK_S_MAX, trust_env=False) as http:
            for child in self._children.values():
                while not await _ask(http, child.planned.admin_url + "/readyz"):  # noqa: ASYNC110  it is elsewhere
                    await asyncio.sleep(READY_POLL_S)

    async def _stop(self) -> None:
        """SIGTERM to each, and for those that do not heed it, SIGKILL."""
        self._stopping = True
        for watch in list(self._watches):
            watch.cancel()
        for child in self._children.values():
            child.signal(signal.SIGTERM)
        # A task that waits before a restart has no process to end, so it is cancelled; the others end by themselves.
        for task, child in zip(self._tasks, self._children.values(), strict=False):
            if child.process is None or child.process.returncode is not None:
                task.cancel()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=STOP_S_MAX)
            for child in self._children.values():
                child.signal(signal.SIGKILL)
            if late:
                await asyncio.wait(late, timeout=STOP_S_MAX)
        if self._failure.done() and not self._failure.cancelled():
            self._failure.exception()
        if self._file is not None:
            remove_state(self._file)


async def _ask(http: httpx.AsyncClient, url: str) -> dict[str, Any] | None:
    """The answer of an operator's door, or None if it says no or nothing."""
    try:
        answer = await http.get(url)
    except httpx.HTTPError:
        return None
    return answer.json() if answer.status_code == httpx.codes.OK else None


async def run_network(plan: NetworkPlan, directory: Path, ready: Callable[[NetworkState], None]) -> None:
    """Run until SIGINT or SIGTERM; ``ready`` is called once. ``LiveError`` if it cannot start or go on."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    running = asyncio.create_task(_serve(plan, directory, ready))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if stopping.done():
            _say(f"ending {len(plan.brokers)} broker{'s' if len(plan.brokers) != 1 else ''}")
    finally:
        stopping.cancel()
        running.cancel()
    try:
        await running
    except asyncio.CancelledError:
        return


async def _serve(plan: NetworkPlan, directory: Path, ready: Callable[[NetworkState], None]) -> None:
    async with Network(plan, directory) as network:
        ready(network.state)
        await network.failure()
