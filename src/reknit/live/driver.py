"""The live shell: one broker and one MQTT door on one asyncio loop.

Owns: turning what sockets bring into inputs, performing the effects in their order, the one alarm, and the trace's
clock. Must not know: what a frame or a packet means, how a route is found, or what is news (see ``journal``).

Everything happens in *turns*. A turn begins with one read, one alarm or one operator's command; it feeds the core,
collects what is to be sent, and ends by writing to each socket once. So a burst of a thousand events to one client is
one system call, and that, not Python, is what a broker costs. A turn never awaits, so it cannot be interrupted.

The core's ``now`` is the machine's monotonic clock. Records leave with the wall clock instead, by an offset that is
taken once, so that a step of the wall clock cannot turn the order of a broker's own records around.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from reknit.core.io import (
    Accepted,
    Close,
    Deliver,
    DeliverShared,
    Dial,
    DialFailed,
    Dialled,
    Due,
    Effect,
    Input,
    Lost,
    Missed,
    Observe,
    Received,
    Remember,
    Reply,
    Retain,
    Send,
    SendDirect,
    Survey,
)
from reknit.live import look
from reknit.live.config import Bounds
from reknit.live.counters import Counters
from reknit.live.crowd import Crowd
from reknit.live.framing import frame_head
from reknit.live.guard import AccessSection, Guard
from reknit.live.guests import GuestBook
from reknit.live.journal import NEWS, Journal
from reknit.live.links import LinkProtocol, dial
from reknit.live.moves import Moves
from reknit.live.mqtt_server import ClientProtocol
from reknit.live.operations import Operations
from reknit.live.pace import EVERY, Pace
from reknit.live.relay import Relays
from reknit.live.tls import LinkTls
from reknit.trace.passage import RecordSink, Seen
from reknit.trace.records import Record

if TYPE_CHECKING:
    from reknit.core.broker import Broker
    from reknit.live.datagrams import DatagramPort
    from reknit.live.ledger import StoreCounters
    from reknit.mqtt.door import Door
    from reknit.mqtt.session import Question

__all__ = ["Driver"]

ALARM_S_MIN = 0.001
"""No alarm sooner than this, so that an overdue deadline cannot starve the sockets."""
LOOK_S = 0.005
"""How long after a turn its new deadlines are looked for: once for all turns of that time, not once for each."""
STOP_S_MAX = 2.0
"""How long the end waits for connections that close; each of them gives up sooner by itself."""

_log = logging.getLogger("reknit.live")


class Driver:
    """Feeds one broker and one door, and performs what they answer. Create it inside the running loop."""

    def __init__(
        self,
        broker: Broker,
        door: Door,
        *,
        bounds: Bounds | None = None,
        trace: RecordSink | None = None,
        journal: Journal | None = None,
        memory: Callable[[Remember], None] | None = None,
        guard: Guard | None = None,
        link_tls: LinkTls | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """``memory`` keeps what the next life of this broker has to know; its ``OSError`` is told and counted."""
        self.broker = broker
        self.door = door
        self.journal = journal or Journal()
        self.guests = GuestBook(self.journal.say)
        self.pace = Pace()
        self.bounds = bounds or Bounds()
        self.guard = guard or Guard(AccessSection())
        self.link_tls = link_tls
        self.crowd = Crowd(self.bounds.address_connections_max, self.bounds.address_connections_per_s_max)
        self.admit()
        self.counters = Counters()
        self.loop = asyncio.get_running_loop()
        self.links: dict[int, LinkProtocol] = {}
        self.clients: dict[int, ClientProtocol] = {}
        self.moves = Moves(door, self.clients)
        self.operations = Operations(self.turn)
        self.relays = Relays(self)
        self.trace = trace
        self._memory, self._clock = memory, clock
        # The process may be put to sleep between the two readings; the largest difference is the truest.
        self.wall_offset = max(wall() - clock() for _ in range(5))
        self.store: StoreCounters | None = None  # of a broker that has one
        self.port: DatagramPort | None = None  # of a broker that takes datagrams
        self.gateway: Callable[[], dict[str, dict[str, int]]] | None = None  # counters of one that is a member
        self.trouble = ""  # why it cannot go on for now
        self._conns = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._frames: dict[int, list[bytes]] = {}
        self._closing: dict[int, str] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = float("inf")
        self._look: asyncio.TimerHandle | None = None
        self._next_report: asyncio.TimerHandle | None = None

    def next_conn(self) -> int:
        return next(self._conns)

    def start(self) -> None:
        """The first turn: the core may want to dial, and to be woken."""
        self.turn(Due())
        if self.door.sys_interval_s:
            self._report()

    async def stop(self) -> None:
        """Close every connection after what was written has left, then the trace.

        The core is not told: to it, and to its neighbours, this is a crash that loses nothing on the way out.
        """
        for timer in (self._alarm, self._look, self._next_report):
            if timer is not None:
                timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        protocols: list[LinkProtocol | ClientProtocol] = [*self.links.values(), *self.clients.values()]
        self.links.clear()
        self.clients.clear()
        for protocol in protocols:
            protocol.close()
        if protocols:
            await asyncio.wait([protocol.ended for protocol in protocols], timeout=STOP_S_MAX)
        self.guard.close()
        if self.trace is not None:
            self.trace.close()

    # --- clients

    def client_opened(self, client: ClientProtocol) -> bool:
        if len(self.clients) >= self.bounds.client_connections_max:
            self.counters.clients_refused += 1
            client.transport.abort()
            return False
        self.counters.clients_accepted += 1
        self.clients[client.conn] = client
        now = self._clock()
        nameless = client.vouched or self.guard.lets_in_nameless(client.host)
        terms: dict[str, Any] = {"fault": self.crowd.came(client.host, now), "relayed": client.vouched}
        self.door.opened(client.conn, now, anonymous=nameless, user=client.user, **terms)
        self._finish()
        return not client.transport.is_closing()

    def client_received(self, client: ClientProtocol, data: bytes) -> None:
        now = self._clock()
        door = self.door
        for command in door.received(client.conn, data, now):
            for effect in self.broker.handle(command, now):
                # As in ``_perform``, without the call: this is the way of every event.
                if type(effect) is Deliver:
                    door.deliver(effect, now)
                else:
                    self._perform((effect,), now)
        if door.asking:
            for question in door.questions():
                self.later(self._check(question))
        self._finish()
        if not self.counters.turns % EVERY:
            self.pace.add(self._clock() - now)

    async def _check(self, question: Question) -> None:
        """Passwords take their time, and nobody waits for them but those who gave them."""
        good = await self.guard.check(question.user, question.password)
        now = self._clock()
        for command in self.door.answered(question.conn, good, now):
            self._perform(self.broker.handle(command, now), now)
        self._finish()

    def not_found(self, conn: int) -> None:
        """The home of the client on this connection does not answer."""
        now = self._clock()
        for command in self.door.not_found(conn, now):
            self._perform(self.broker.handle(command, now), now)
        self._finish()

    def admit(self) -> None:
        """Let what the guard has read hold from now on."""
        self.door.passwords = self.guard.knows_passwords
        self.door.allow(self.guard.access)

    def reload(self) -> None:
        """Read the guard's files again; ``ConfigError`` if they are bad, and the old ones hold."""
        self.guard.reload()
        self.admit()
        self.journal.say(self.guard.told)
        now = self._clock()
        for command in self.door.turn_out(self.guard.knows, now):
            self._perform(self.broker.handle(command, now), now)
        self._finish()

    def client_lost(self, client: ClientProtocol) -> None:
        if self.clients.pop(client.conn, None) is None:
            return
        self.crowd.went(client.host)
        try:
            now = self._clock()
            for command in self.door.closed(client.conn, now):
                self._perform(self.broker.handle(command, now), now)
            self._tell_clients(client)
            self._finish()
        except Exception:
            self.failed(f"the end of client connection {client.conn}")

    def client_writable(self, client: ClientProtocol, ready: bool) -> None:
        try:
            self.door.writable(client.conn, ready)
        except Exception:
            self.failed(f"client connection {client.conn}, {'resumed' if ready else 'paused'}")
        self._finish()

    # --- links

    def link_opened(self, link: LinkProtocol) -> bool:
        if len(self.links) >= self.bounds.link_connections_max:
            self.counters.links_refused += 1
            link.transport.abort()
            return False
        self.links[link.conn] = link
        if link.peer:
            self.counters.links_dialled += 1
            self.turn(Dialled(link.peer, link.conn))
        else:
            self.counters.links_accepted += 1
            self.turn(Accepted(link.conn, link.names))
        return link.conn in self.links

    def link_received(self, link: LinkProtocol, frames: Iterable[bytes]) -> None:
        now = self._clock()
        conn, handle = link.conn, self.broker.handle
        try:
            for frame in frames:
                self._perform(handle(Received(conn, frame), now), now)
                if conn in self._closing:
                    break
                link.accepted()
        finally:
            self._finish()
            if not self.counters.turns % EVERY:
                self.pace.add(self._clock() - now)

    def link_lost(self, link: LinkProtocol, reason: str, *, tell: bool) -> None:
        if self.links.pop(link.conn, None) is not None and tell:
            if link.peer and not link.known:
                self.journal.unreachable(link.peer, reason)
            self.turn(Lost(link.conn, reason))

    # --- looking in

    def waiting_for(self) -> list[str]:
        """The neighbours without which this broker is not ready."""
        return look.waiting_for(self)

    def count(self) -> dict[str, Any]:
        return look.count(self)

    # --- a turn

    def failed(self, where: str) -> None:
        """Log and count the exception in flight. The process goes on: one bad connection is not everybody's."""
        self.counters.failures += 1
        _log.exception("unhandled failure: %s", where)

    def turn(self, each: Input) -> None:
        now = self._clock()
        try:
            self._perform(self.broker.handle(each, now), now)
        except Exception:
            self.failed(type(each).__name__)
        self._finish()

    def _perform(self, effects: Iterable[Effect], now: float) -> None:
        for effect in effects:
            # The two that every event causes come first, and without the cost of a match.
            if type(effect) is Deliver:
                self.door.deliver(effect, now)
            elif type(effect) is Send:
                self._frames.setdefault(effect.conn, []).extend((frame_head(effect.frame), effect.frame))
            else:
                self._perform_rare(effect, now)

    def _perform_rare(self, effect: Effect, now: float) -> None:
        match effect:
            case Observe(seen):
                self._observe(seen)
            case Close(conn, reason):
                self._closing[conn] = reason
            case Dial(peer, address):
                self.later(self._dialling(peer, address))
            case Reply() | Survey():
                self.operations.perform(effect)
            case DeliverShared():
                self.door.share(effect, now)
            case Retain(event):
                self.door.retain(event)
            case Missed():
                self.door.missed(effect, now)
            case SendDirect(address=address, datagram=datagram):
                if self.port is not None:
                    self.port.send_directly(address, datagram)
            case Remember():
                self._remember(effect)
            case _:
                self.moves.perform(effect, now)

    def _finish(self) -> None:
        """The end of a turn: one write for each socket, and only then what nobody waits for."""
        clients, counters = self.clients, self.counters
        if self.moves.pending or self.door.moods.noted:
            self.moves.give(self.broker, self._perform, self._clock())
        if self.door.abroad.seeks:
            self.relays.take()
        for output in self.door.output():
            if (client := clients.get(output.conn)) is None:
                continue
            if output.data:
                client.write(output.data)
                counters.writes += 1
            if output.close:
                client.close(lingers=True)
        if self.door.news:
            self._tell_clients()
        if self._frames:
            self._write_links()
        if self._closing:
            closing, self._closing = self._closing, {}
            for conn, reason in closing.items():
                self._close_link(conn, reason)
        counters.turns += 1
        if self._look is None:
            self._look = self.loop.call_later(LOOK_S, self._set_alarm)

    def _tell_clients(self, gone: ClientProtocol | None = None) -> None:
        now = self._clock()
        for news in self.door.news:
            client = self.clients.get(news.conn, gone)
            self.guests.note(news, client.remote if client is not None else "an unknown address", now)
        self.door.news.clear()

    def _write_links(self) -> None:
        frames, self._frames = self._frames, {}
        for conn, parts in frames.items():
            if (link := self.links.get(conn)) is not None:
                link.write(b"".join(parts))
                self.counters.writes += 1

    def _close_link(self, conn: int, reason: str) -> None:
        if (link := self.links.pop(conn, None)) is not None:
            self.counters.links_closed += 1
            self.journal.closed(link.peer or link.host, reason)
            link.close()

    def _observe(self, seen: list[Seen]) -> None:
        """News of links come even without a trace; everything else only for it."""
        for each in seen:
            if isinstance(each, Record) and each.kind in NEWS:
                self.journal.note(each)
            each.time += self.wall_offset
        if self.trace is not None:
            self.trace.append(seen)

    def _remember(self, effect: Remember) -> None:
        try:
            if self._memory is not None:
                self._memory(effect)
        except OSError as error:
            self.counters.memory_failures += 1
            self.journal.say(f"the neighbours could not be written down: {error}")

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _dialling(self, peer: str, address: str) -> None:
        port = self.port if self.broker.options.links.is_loose(peer) else None
        if reason := await (port.dial(peer, address) if port is not None else dial(self, peer, address)):
            self.journal.unreachable(peer, reason)
            self.turn(DialFailed(peer, reason))

    def _report(self) -> None:
        """What the broker says of itself; on time by the clock, whatever else it has to do."""
        self._next_report = self.loop.call_later(self.door.sys_interval_s, self._report)
        try:
            self.door.report(self._clock())
        except Exception:
            self.failed("the report under $SYS")
        self._finish()

    # --- the alarm

    def _set_alarm(self) -> None:
        """Only an earlier deadline moves the alarm: one that comes too early finds nothing to do and sets it anew."""
        self._look = None
        if self.journal.waiting:
            self.journal.look(self.waiting_for() or look.astray(self))
        ours, doors = self.broker.deadline(), self.door.deadline()
        if ours is None or (doors is not None and doors < ours):
            ours = doors
        if ours is None or ours >= self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = ours
        self._alarm = self.loop.call_later(max(ours - self._clock(), ALARM_S_MIN), self._due)

    def _due(self) -> None:
        self._alarm, self._alarm_at = None, float("inf")
        now = self._clock()
        try:
            for command in self.door.due(now):
                self._perform(self.broker.handle(command, now), now)
        except Exception:
            self.failed("the door's alarm")
        self.turn(Due())
