"""One broker as one process: its sockets, its core, its door, its trace, from start to end.

Owns: the order of starting and ending, signals, and the log on standard error. Must not know: other processes (see
``network``).

Every address is bound before anything runs, so a taken port is one clear line and not half a broker.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import gc
import importlib.metadata
import os
import random
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
from starlette.types import ASGIApp

from reknit.core.brokers import make_broker
from reknit.core.io import Remember
from reknit.gateway.broker import MemberBroker
from reknit.live.address import Address, listen
from reknit.live.admin import About, AdminServer, admin_app
from reknit.live.config import Settings, door_options
from reknit.live.datagrams import DatagramPort
from reknit.live.driver import Driver
from reknit.live.durable import DurableDriver
from reknit.live.errors import ConfigError, StartFailed
from reknit.live.fitness import IN_TLS, check_fit
from reknit.live.gateway import LiveGateway, gateway_open
from reknit.live.guard import Guard, is_loopback
from reknit.live.journal import Journal, Say
from reknit.live.ledger import Ledger, Past, incarnation_entry, read_past
from reknit.live.links import LinkProtocol
from reknit.live.log import Line, Log
from reknit.live.memory import Memory, MemoryFile, recall
from reknit.live.mqtt_server import ClientProtocol
from reknit.live.notify import notify
from reknit.live.relay import RelayDoor
from reknit.live.tls import link_tls, server_context
from reknit.live.warden import Warden
from reknit.live.websocket import WebSocketProtocol
from reknit.mqtt.door import Door
from reknit.mqtt.keeping import Keeper
from reknit.store.entries import Store, StoreError
from reknit.store.sqlite import SqliteStore
from reknit.trace.passage import RecordSink

__all__ = ["DOORS", "BrokerPlan", "RunningBroker", "broker_running", "run_broker"]

DOORS = ("mqtts", "ws", "wss", "relay")
_OF_BROKERS = ("listen", "relay")
_PROTOCOLS: dict[str, Callable[[Driver], asyncio.Protocol]] = {
    "mqtt": ClientProtocol,
    "mqtts": ClientProtocol,
    "ws": WebSocketProtocol,
    "wss": WebSocketProtocol,
    "listen": LinkProtocol,
    "relay": RelayDoor,
}

HANDSHAKE_S_MIN = 0.01
"""A handshake of TLS has at least this long, whatever a CONNECT has."""
GARBAGE_OBJECTS = 50_000
"""So many objects more than before, and the interpreter looks for cycles among them."""


@dataclass(frozen=True, slots=True)
class BrokerPlan:
    """All that one broker needs to know to run."""

    name: str
    mqtt: Address
    listen: Address
    admin: Address | None = None
    doors: Mapping[str, Address] = field(default_factory=dict)
    """Further doors for clients, by what they speak (``DOORS``)."""
    neighbours: Mapping[str, str] = field(default_factory=dict)
    known_at: Address | None = None
    """Where others reach it, if not at ``listen``."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Of the life before; see ``state``."""
    notes: str = ""
    leaves: bool = False
    """Both of the same."""
    settings: Settings = field(default_factory=Settings)
    state: Path | None = None
    """Where the neighbours and notes are kept for the next life. If the file is there, they are taken from it alone."""
    new: bool = False
    """Whether no life of this broker has ever been linked: then its first link needs no search."""
    part_of: str = ""
    """The larger change that the first link of a new broker is a step of."""
    until_stdin_closes: bool = False
    """End when standard input ends, so that no broker outlives the one who started it; nor need its ``state``."""


def run_broker(plan: BrokerPlan) -> bool:
    """Run until SIGTERM or SIGINT, or until it was drained, which is said; on the fast loop where it is installed."""
    # What is loaded by now stays for good, and the events that come and go make no cycles: look for those seldom.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_until_told(plan))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _until_told(plan: BrokerPlan) -> bool:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if plan.until_stdin_closes:
        await loop.connect_read_pipe(lambda: _Leash(stop), sys.stdin)
    log = Log(plan.name, plan.settings.log, later=loop.call_later)
    with log.taking_over():
        drained = await _serving(plan, log, stop)
    # All is done. The loop gives its signals back as it closes; one more of them must not turn this end into a death.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    return drained


async def _serving(plan: BrokerPlan, log: Log, stop: asyncio.Event) -> bool:
    async with broker_running(plan, log) as running:
        # Before anybody hears that it is up: without a handler this signal would end it.
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _reload, running.driver, log)
        # It serves; its neighbours may need it before it can be what /readyz calls ready.
        notify("READY=1", f"STATUS=mqtt at {running.mqtt}")
        ended = running.driver.moves.ended
        waits = [asyncio.ensure_future(each.wait()) for each in (stop, ended)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()
        notify("STOPPING=1")
    log(Line("drained, and ended" if ended.is_set() else "ended", "drained" if ended.is_set() else "ended"))
    return ended.is_set()


def _reload(driver: Driver, log: Log) -> None:
    """Read the files of passwords and rules again; if one is bad, the old ones hold."""
    try:
        driver.reload()
    except ConfigError as error:
        log(Line(f"{error}; the old ones hold", "access.refused", "error"))


class _Leash(asyncio.Protocol):
    """Whoever started us holds the other end of our standard input; when that is gone, so are we."""

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop.set()


_EVERYWHERE = ("0.0.0.0", "::")
"""Hosts to listen on that nobody can dial: neighbours are not told such an address."""


@dataclass(frozen=True, slots=True)
class RunningBroker:
    """A broker that serves; a port that was given as 0 is known here."""

    driver: Driver
    mqtt: Address
    listen: Address
    admin: Address | None
    doors: Mapping[str, Address]
    gateway: LiveGateway | None = None


@contextlib.asynccontextmanager
async def broker_running(plan: BrokerPlan, say: Say | None = None) -> AsyncIterator[RunningBroker]:
    """Inside, every address answers; after it, every connection is cut and the trace is written.

    ``say`` is given a line for each change of a link.
    """
    # Before any address is bound: with bad files, or none where they are needed, nothing begins.
    guard = check_fit(plan.name, plan.settings, _places(plan))
    async with contextlib.AsyncExitStack() as undo:
        journal = Journal(say) if say is not None else Journal()
        plan = _recalled(plan, journal)
        sockets = _bind(plan, undo)
        bound = {key: Address(*sock.getsockname()[:2]) for key, sock in sockets.items()}
        storage = _storage(plan, journal, undo)
        incarnation = max(time.time_ns() // 1_000_000, storage.past.incarnation + 1 if storage is not None else 0)
        driver = _driver(plan, incarnation, bound, journal, storage, guard, _memory(plan, undo))
        undo.push_async_callback(driver.stop)
        loop = asyncio.get_running_loop()
        tls = server_context(plan.settings.tls, plan.name) if any(key in IN_TLS for key in plan.doors) else None
        for key in (*(key for key in DOORS if key in sockets), "mqtt", "listen"):
            made = functools.partial(_PROTOCOLS[key], driver)
            secure = tls if key in IN_TLS else None
            if key in _OF_BROKERS and driver.link_tls is not None:
                secure = driver.link_tls.server
            # The time for a CONNECT begins when TLS is through, so TLS has as much of its own.
            patience = max(plan.settings.mqtt.connect_s_max, HANDSHAKE_S_MIN) if secure is not None else None
            server = await loop.create_server(made, sock=sockets[key], ssl=secure, ssl_handshake_timeout=patience)
            undo.callback(server.close)
        await _open_datagrams(driver, bound["listen"], undo)
        journal.say(Line(f"listening: {_addresses(bound)}", "listening"))
        driver.start()
        if "admin" in sockets:
            addresses = (str(bound[key]) for key in ("mqtt", "listen", "admin"))
            app = _guarded(plan, driver, About(plan.name, incarnation, os.getpid(), *addresses))
            undo.push_async_callback(AdminServer(app, sockets["admin"], driver.counters).close)
        journal.begin(driver.waiting_for())
        member = await undo.enter_async_context(gateway_open(plan.settings.communities, driver))
        if member is not None:
            journal.say(f"a member of {', '.join(plan.settings.communities.topics)} at {member.member.address}")
        doors = {key: bound[key] for key in DOORS if key in bound}
        yield RunningBroker(driver, bound["mqtt"], bound["listen"], bound.get("admin"), doors, member)


async def _open_datagrams(driver: Driver, address: Address, undo: contextlib.AsyncExitStack) -> None:
    """At the number at which links come in, if anything is to be said past the tree, or events may be lost."""
    options = driver.broker.options
    if not (options.recovery.names or options.links.may_lose):
        return
    try:
        transport, driver.port = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: DatagramPort(driver, options.links.may_lose), local_addr=address
        )
    except OSError as error:
        raise StartFailed(f"datagrams at {address}: {error.strerror}") from None
    undo.callback(transport.close)


def _addresses(bound: Mapping[str, Address]) -> str:
    whom = {"listen": "links", "relay": "relays", "admin": "operators"}
    return ", ".join(f"{whom.get(key, key)} {address}" for key, address in bound.items())


def _recalled(plan: BrokerPlan, journal: Journal) -> BrokerPlan:
    """The plan with the neighbours of the last life, if it has left any word of them.

    Nothing is *founded* then: what was a link still is one, and what was only wanted is searched for.
    """
    if plan.state is None or (kept := recall(plan.state, plan.name)) is None:
        return plan
    known = kept.links | kept.wanted
    journal.say(f"the neighbours are those of {plan.state}: {', '.join(known) or 'none'}")
    if passed := ", ".join(name for name in plan.neighbours if name not in known):
        journal.say(f"not among them, so not linked: {passed}; add a link with `reknit link add`")
    options = msgspec.structs.replace(plan.settings.options, founded=False)
    settings = msgspec.structs.replace(plan.settings, options=options)
    past = replace(plan, neighbours=kept.wanted, links=kept.links, notes=kept.notes, leaves=kept.leaves)
    return replace(past, settings=settings, new=False)


def _places(plan: BrokerPlan) -> dict[str, Address]:
    """Where it is to be reached, by what is spoken there."""
    wanted = {"mqtt": plan.mqtt, **plan.doors, "listen": plan.listen}
    if plan.settings.mqtt.unique_ids:
        wanted.setdefault("relay", Address(plan.listen.host, 0))
    if plan.admin is not None:
        wanted["admin"] = plan.admin
    return wanted


def _bind(plan: BrokerPlan, undo: contextlib.AsyncExitStack) -> dict[str, socket.socket]:
    sockets: dict[str, socket.socket] = {}
    for key, address in _places(plan).items():
        sockets[key] = listen(address, f"broker {plan.name}: {key}")
        undo.callback(sockets[key].close)
    return sockets


def _guarded(plan: BrokerPlan, driver: Driver, about: About) -> ASGIApp:
    app = admin_app(driver, about)
    reached = plan.admin is not None and not is_loopback(plan.admin.host)
    return Warden(app, driver.guard, driver.counters) if reached else app


def _reachable(address: Address) -> str:
    return "" if address.host in _EVERYWHERE else str(address)


@dataclass(frozen=True, slots=True)
class _Storage:
    """A store that was opened and read."""

    store: Store
    keeper: Keeper
    past: Past


def _storage(plan: BrokerPlan, journal: Journal, undo: contextlib.AsyncExitStack) -> _Storage | None:
    """What the broker is to go on with; ``ConfigError`` if the store is not as it was written."""
    if not plan.settings.store.path:
        return None
    path = Path(plan.settings.store.path).absolute()
    try:
        store = SqliteStore(path, plan.name)
        undo.callback(store.close)
        if store.remark:
            journal.say(store.remark)
        keeper = Keeper(door_options(plan.settings.mqtt), time.time() - time.monotonic())
        past = read_past(store.load(), keeper, str(path))
    except StoreError as error:
        raise ConfigError(f"store: {error}") from None
    journal.say(f"store: {path}, {past.entries} entries")
    return _Storage(store, keeper, past)


def _driver(
    plan: BrokerPlan,
    incarnation: int,
    bound: Mapping[str, Address],
    journal: Journal,
    storage: _Storage | None,
    guard: Guard,
    memory: Callable[[Remember], None] | None,
) -> Driver:
    settings = plan.settings
    trace = _trace(settings.trace.directory, plan.name)
    homes = msgspec.structs.replace(settings.options.homes, unique=settings.mqtt.unique_ids)
    own = {"observe": trace is not None, "durable": storage is not None, "homes": homes}
    options = msgspec.structs.replace(settings.options, **own)
    rng = random.Random(f"{plan.name}/{incarnation}")
    listens, serves = _reachable(plan.known_at or bound["listen"]), _reachable(bound["mqtt"])
    relays = _reachable(bound["relay"]) if "relay" in bound else ""
    known = (plan.neighbours, listens, plan.links, plan.notes, plan.leaves)
    kind = MemberBroker if settings.communities.topics else make_broker
    broker = kind(plan.name, incarnation, options, rng, *known, new=plan.new, door=serves, relay=relays)
    broker.overlay.history.part_of = plan.part_of
    keeper = storage.keeper if storage is not None else None
    epoch, version = time.time() - time.monotonic(), importlib.metadata.version("reknit")
    taken = door_options(settings.mqtt)
    if options.routing == "rendezvous":
        taken = dataclasses.replace(taken, wildcards=False)
    door = Door(taken, rng, epoch, version, keeper)
    shell: dict[str, Any] = {"bounds": settings.bounds, "trace": trace, "journal": journal, "memory": memory}
    shell |= {"guard": guard, "link_tls": link_tls(settings.tls, plan.name)}
    if storage is None:
        return Driver(broker, door, **shell)
    _keep_incarnation(storage, incarnation)
    ledger = Ledger(storage.keeper, broker.seen, storage.past.seen)
    return DurableDriver(broker, door, ledger=ledger, store=storage.store, past=storage.past, **shell)


def _keep_incarnation(storage: _Storage, incarnation: int) -> None:
    try:
        storage.store.commit(incarnation_entry(incarnation))
    except StoreError as error:
        raise StartFailed(f"store: {error}") from None


def _memory(plan: BrokerPlan, undo: contextlib.AsyncExitStack) -> Callable[[Remember], None] | None:
    if plan.state is None:
        return None
    file = MemoryFile(plan.state, synced=not plan.until_stdin_closes)
    undo.callback(file.close)
    return functools.partial(_keep, plan.name, file)


def _keep(name: str, file: MemoryFile, effect: Remember) -> None:
    file.remember(Memory(name, dict(effect.neighbours), dict(effect.wanted), effect.notes, effect.leaves))


def _trace(directory: str, name: str) -> RecordSink | None:
    if not directory:
        return None
    from reknit.trace.store import TraceWriter

    try:
        return TraceWriter(directory, name)
    except OSError as error:
        raise ConfigError(f"trace: {directory}: {error.strerror}") from None
