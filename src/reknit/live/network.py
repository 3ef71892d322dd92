"""A whole network on this machine: each broker a process, looked after until it is told to end.

Owns: starting, waiting until all is ready, restarting what dies, ending. Must not know: the protocol; it sees
processes and their operators' doors.

A broker that ends by itself is restarted, after a wait that doubles each time, and that is counted; but not one that
was drained. A broker that says that its input is bad (exit code 2: a taken port, say) would say so again, so it ends
the network instead. Each broker has a memory, a file in a directory that goes away with the network: a restarted one
begins with the links that it had when it died, and goes on with a change of the tree that was under way then. What
brokers say is relayed once all are ready, and until the end begins: before and after, links come and go anyway. Brokers
run in sessions of their own, so that Ctrl-C reaches this process only, and hold the end of a pipe whose other end is
here, so that none of them outlives it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import msgspec

from reknit.live.address import Address, free_ports
from reknit.live.config import Settings, check_name
from reknit.live.errors import ConfigError, StartFailed
from reknit.live.plan import PLACES, NetworkPlan, PlannedBroker, broker_command, linked_at_first, own_store, settings_of
from reknit.live.statefile import BrokerState, NetworkState, claim, remove_state, write_state

__all__ = ["EXIT_DRAINED", "Network"]

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
EXIT_DRAINED = 3
"""A broker that somebody looks after says so that it was drained; alone, it just ends well."""

Say = Callable[[str], None]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class _Child:
    """One broker's process, over all its lives."""

    def __init__(self, planned: PlannedBroker, neighbours: dict[str, str], settings: Settings) -> None:
        """``neighbours``: of its first life; later ones remember theirs."""
        self.planned = planned
        self.neighbours = neighbours
        self.settings = settings
        self.process: Process | None = None
        self.restarts = 0
        self.last_words = ""
        self.begun = False  # it has been ready once
        self.failed = ""  # why it could not begin
        self.new = False  # nobody can hold it for a neighbour before its first life
        self.part_of = ""  # the larger change that its first link is a step of
        self.task: asyncio.Task[None] | None = None

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
        self._children = {
            broker.name: _Child(broker, linked_at_first(broker.name, plan), settings_of(broker.name, plan))
            for broker in plan.brokers
        }
        self._memory: tempfile.TemporaryDirectory[str] | None = None
        self._door = ""
        self._given_up: dict[str, None] = {}
        self._watches: set[asyncio.Task[None]] = set()
        self._file: Path | None = None
        self._ready = False
        self._stopping = False
        self._failure: asyncio.Future[None]

    async def __aenter__(self) -> Self:
        self._failure = asyncio.get_running_loop().create_future()
        self._file = claim(self._directory)
        try:
            self._memory = tempfile.TemporaryDirectory(prefix="reknit-up-")
            for child in self._children.values():
                child.task = asyncio.create_task(self._keep(child))
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
            if child.begun
        ]
        return NetworkState(pid=os.getpid(), brokers=brokers, links=list(self._plan.edges), door=self._door)

    def open_door(self, url: str) -> None:
        """Let the file say where operators can ask for a broker more."""
        self._door = url
        self._write()

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
            child.new = False  # somebody may hold it for a neighbour by now
            if code == EXIT_DRAINED and not self._stopping:
                self._let_go(child)
                return
            if self._stopping or self._hopeless(child, code):
                return
            delay_s = RESTART_S_MIN if loop.time() - born > CALM_S else delay_s
            self._say(f"{child.planned.name}: ended with code {code}; restarting in {delay_s:g} s")
            await asyncio.sleep(delay_s)
            delay_s = min(delay_s * 2, RESTART_S_MAX)
            child.restarts += 1
            self._watch(child)

    def _let_go(self, child: _Child) -> None:
        """It was drained: there is nobody to look after any more."""
        name = child.planned.name
        del self._children[name]
        self._state_of(child).unlink(missing_ok=True)  # another of this name would begin with it
        self._say(f"{name}: drained")
        self._write()

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
        """Whether a restart would end the same way, or it has never begun, nor, maybe, the network."""
        if child.begun and self._ready and code != EXIT_BAD_INPUT:
            return False
        words = (child.last_words or f"ended with code {code}").removeprefix("reknit: ")
        child.failed = f"{child.planned.name}: {words}"
        if not self._failure.done() and (child.begun or not self._ready):
            kind = ConfigError if code == EXIT_BAD_INPUT else StartFailed
            self._failure.set_exception(kind(child.failed))
        return True

    def _command(self, child: _Child) -> list[str]:
        """A broker that remembers its neighbours is told of none."""
        state = self._state_of(child)
        if state.exists():
            return broker_command(child.planned, {}, child.settings, state)
        command = broker_command(child.planned, child.neighbours, child.settings, state)
        command += ["--part-of", child.part_of] if child.part_of else []
        return [*command, "--new"] if child.new else command

    def _state_of(self, child: _Child) -> Path:
        assert self._memory is not None
        return Path(self._memory.name) / f"{child.planned.name}.json"

    def _write(self) -> None:
        if self._file is not None and self._ready and not self._stopping:
            write_state(self._file, self.state)

    # --- starting and ending

    async def _until_ready(self) -> None:
        limit_s = READY_S_MAX + READY_S_PER_BROKER * len(self._children)
        polling = asyncio.create_task(self._poll(self._children.values()))
        try:
            await asyncio.wait({polling, self._failure}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            if self._failure.done():
                self._failure.result()
            if not polling.done():
                raise StartFailed(f"the network was not ready within {limit_s:g} s")
            polling.result()
        finally:
            polling.cancel()

    async def _poll(self, children: Iterable[_Child]) -> None:
        """Until all are ready at once: one that was may wait for others that have come since."""
        children, late = list(children), True
        async with httpx.AsyncClient(timeout=ASK_S_MAX, trust_env=False) as http:
            while late:
                late = False
                for child in children:
                    url = child.planned.admin_url + "/readyz"
                    while not child.failed and not await _ask(http, url):
                        await asyncio.sleep(READY_POLL_S)
                        late = True
                    child.begun = not child.failed

    # --- a broker more

    async def add(self, name: str, link_to: str = "", of: str = "") -> BrokerState:
        """Start it at ports that are free, linked with ``link_to`` if that is given; return once it is ready.

        It is looked after like the others from then on. ``of``: the larger change that this is a step of. ``LiveError``
        if it cannot be.
        """
        check_name(name, "broker add")
        if name in self._children:
            raise ConfigError(f"there is a broker {name!r} in this network already")
        neighbours = {link_to: self.state.broker(link_to).listen} if link_to else {}
        options = msgspec.structs.replace(self._plan.settings.options, founded=False)  # this link nobody has checked
        store = own_store(name, self._plan.settings.store)
        settings = msgspec.structs.replace(self._plan.settings, options=options, store=store)
        child = self._children[name] = _Child(self._free_place(name), neighbours, settings)
        child.new, child.part_of = name not in self._given_up, of
        child.task = asyncio.create_task(self._keep(child))
        try:
            await asyncio.wait_for(self._poll([child]), READY_S_MAX)
        except TimeoutError:
            child.failed = f"{name} was not ready within {READY_S_MAX:g} s"
        if child.failed:
            await self._give_up(child)
            raise StartFailed(child.failed)
        self._write()
        return self.state.broker(name)

    def _free_place(self, name: str) -> PlannedBroker:
        """Ports that are free now, and belong to no broker that is just down."""
        taken = [address for each in self._children.values() for address in each.planned.addresses]
        host = taken[0].host
        ports = free_ports(host, len(PLACES), frozenset(address.port for address in taken))
        mqtt, links, admin = (Address(host, port) for port in ports)
        return PlannedBroker(name, mqtt, links, admin)

    async def _give_up(self, child: _Child) -> None:
        """A broker that has never been ready: end it, and forget it."""
        assert child.task is not None
        child.signal(signal.SIGKILL)
        await asyncio.wait([child.task], timeout=STOP_S_MAX)
        del self._children[child.planned.name]
        self._given_up[child.planned.name] = None  # somebody may have taken it for a neighbour

    async def _stop(self) -> None:
        """SIGTERM to each, and for those that do not heed it, SIGKILL."""
        self._stopping = True
        for watch in list(self._watches):
            watch.cancel()
        for child in self._children.values():
            child.signal(signal.SIGTERM)
            # A task that waits before a restart has no process to end, so it is cancelled; the others end on their own.
            if child.task is not None and (child.process is None or child.process.returncode is not None):
                child.task.cancel()
        if tasks := [child.task for child in self._children.values() if child.task is not None]:
            _, late = await asyncio.wait(tasks, timeout=STOP_S_MAX)
            for child in self._children.values():
                child.signal(signal.SIGKILL)
            if late:
                await asyncio.wait(late, timeout=STOP_S_MAX)
        if self._failure.done() and not self._failure.cancelled():
            self._failure.exception()
        if self._memory is not None:
            self._memory.cleanup()
        if self._file is not None:
            remove_state(self._file)


async def _ask(http: httpx.AsyncClient, url: str) -> dict[str, Any] | None:
    """The answer of an operator's door, or None if it says no or nothing."""
    try:
        answer = await http.get(url)
    except httpx.HTTPError:
        return None
    return answer.json() if answer.status_code == httpx.codes.OK else None
