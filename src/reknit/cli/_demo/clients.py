"""The demo's clients: each keeps connected, and writes down what it has published and received.

Owns: connections and the clients' own notes, which are a source apart from the trace. Must not know: what is right.

A client that loses its broker connects again as soon as somebody answers, subscribes again, and goes on with new ids.
Of an event that was under way then, it cannot know the outcome; it says so, and does not publish it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import aiomqtt
import msgspec

from reknit.cli._demo.world import Kind, Mark, Role, World, mark_of
from reknit.client import ClientError, connect
from reknit.live.address import Address, parse_address
from reknit.live.statefile import NetworkState
from reknit.model.event import Event

__all__ = ["Crowd", "DemoClient", "Notes", "Received", "Sent", "gathered"]

RECONNECT_S = 0.1
LINE_BYTES_MAX = 64 << 10

_Publish: TypeAlias = Callable[[Event], Coroutine[Any, Any, None]]


class Sent(msgspec.Struct, frozen=True):
    """An event that a broker has acknowledged, or (``open``) whose broker died before it could."""

    mark: Mark
    event: Event
    time: float
    open: bool


class Received(msgspec.Struct, frozen=True):
    mark: Mark
    connection: int
    time: float


class Notes:
    """What one client has written down."""

    def __init__(self, role: Role) -> None:
        self.role = role
        self.sent: list[Sent] = []
        self.received: list[Received] = []
        self.marks: dict[Mark, None] = {}  # of all that was received
        self.since = 0.0  # when it was connected first
        self.breaks: list[float] = []  # when a connection was lost

    def unbroken(self, begin: float, end: float) -> bool:
        """Whether one connection lasted from ``begin`` to ``end``."""
        return self.since <= begin and not any(begin <= each <= end for each in self.breaks)


class _Gone(Exception):
    """The connection has ended."""


class _Connection:
    """A connection that stands, until ``gone`` is set."""

    def __init__(self, publish: _Publish) -> None:
        self._publish = publish
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def publish(self, event: Event) -> None:
        """Return once the broker has acknowledged it; ``_Gone`` if it cannot any more."""
        task = asyncio.ensure_future(self._publish(event))
        await asyncio.wait({task, self.gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            raise _Gone
        try:
            task.result()
        except (ClientError, aiomqtt.MqttError):
            raise _Gone from None


class DemoClient:
    """One client, over all its connections."""

    def __init__(self, role: Role, address: Address) -> None:
        self.role = role
        self.notes = Notes(role)
        self._address = address
        self._connections = 0
        self._numbers = 0
        self._moved = False  # this connection goes on where another one ended
        self._moves = False  # the end of this connection is no break: the session goes on elsewhere
        self._connection: _Connection | None = None
        self._connected = asyncio.Event()
        kinds = {Kind.PYTHON: self._python, Kind.PLAIN: self._plain, Kind.MOSQUITTO: self._mosquitto}
        self._connect = kinds[role.kind]

    def moves_to(self, broker: str, address: Address) -> None:
        """Its session will be there. Who cannot be told by a broker knows it from here, and is not excused."""
        self.role = self.notes.role = replace(self.role, broker=broker)
        self._address = address
        self._moves = self.role.kind is Kind.PLAIN  # a Python client follows, and its connection seems to last

    async def run(self) -> None:
        """Stay connected until cancelled."""
        while True:
            with contextlib.suppress(ClientError, aiomqtt.MqttError, OSError):
                await self._connect()
            await asyncio.sleep(RECONNECT_S)

    async def publish(self, world: World) -> Sent:
        """Publish one event as soon as there is a connection; return once its outcome is known, or cannot be."""
        await self._connected.wait()
        assert self._connection is not None
        self._numbers += 1
        mark = Mark(self.role.name, self._connections, self._numbers)
        event, begun = world.event(self.role, mark), time.time()
        try:
            await self._connection.publish(event)
            is_open = False
        except _Gone:
            is_open = True
        sent = Sent(mark, event, begun, is_open)
        self.notes.sent.append(sent)
        return sent

    def _note(self, payload: bytes) -> None:
        mark = mark_of(payload)
        self.notes.received.append(Received(mark, self._connections, time.time()))
        self.notes.marks[mark] = None

    # --- connections

    def _count_connection(self) -> None:
        """A session that has moved goes on: what comes now must fit to what came before."""
        self._connections += not self._moved
        self._moved = False
        self.notes.since = self.notes.since or time.time()

    @contextlib.contextmanager
    def _standing(self, publish: _Publish) -> Iterator[None]:
        self._count_connection()
        connection = self._connection = _Connection(publish)
        self._connected.set()
        try:
            yield
        finally:
            self._connected.clear()
            if not self._moves:
                self.notes.breaks.append(time.time())
            self._moved, self._moves = self._moves, False
            connection.gone.set_result(None)

    async def _python(self) -> None:
        wish = self.role.wish
        async with (
            connect(*self._address, client_id=self.role.name, json_attributes=True) as client,
            client.subscribe(*wish.topics, where=wish.selector, qos=1) as events,
        ):

            async def publish(event: Event) -> None:
                await client.publish(event.topic, event.payload, attributes=event.attributes, qos=1)

            with self._standing(publish):
                async for event in events:
                    self._note(event.payload)

    async def _plain(self) -> None:
        host, port = self._address
        version = aiomqtt.ProtocolVersion.V311
        async with aiomqtt.Client(
            host, port, identifier=self.role.name, protocol=version, clean_session=False
        ) as client:
            await client.subscribe([(topic, 1) for topic in self.role.wish.topics])

            async def publish(event: Event) -> None:
                await client.publish(event.topic, event.payload, qos=1)

            with self._standing(publish):
                async for message in client.messages:
                    assert isinstance(message.payload, bytes)
                    self._note(message.payload)

    async def _mosquitto(self) -> None:
        """A client that has nothing to do with us. It only listens, and connects again by itself."""
        process = await asyncio.create_subprocess_exec(
            *mosquitto_command(self.role, self._address), stdout=asyncio.subprocess.PIPE, limit=LINE_BYTES_MAX
        )
        assert process.stdout is not None
        self._count_connection()
        try:
            while line := await process.stdout.readline():
                self._note(line.rstrip(b"\n"))
        finally:
            self.notes.breaks.append(time.time())
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


def mosquitto_command(role: Role, address: Address) -> list[str]:
    host, port = address
    words = ["mosquitto_sub", "-h", host, "-p", str(port), "-i", role.name, "-V", "5", "-q", "1", "-F", "%p"]
    for topic in role.wish.topics:
        words += ["-t", topic]
    if role.wish.selector:
        words += ["-D", "subscribe", "user-property", "selector", role.wish.selector]
    return words


class Crowd:
    """The clients that are there, each kept connected."""

    def __init__(self) -> None:
        self.clients: list[DemoClient] = []
        self.tasks: list[asyncio.Task[None]] = []

    def join(self, roles: Sequence[Role], state: NetworkState) -> None:
        some = [DemoClient(role, parse_address(state.broker(role.broker).mqtt)) for role in roles]
        self.clients += some
        self.tasks += [asyncio.create_task(client.run()) for client in some]


@contextlib.asynccontextmanager
async def gathered() -> AsyncIterator[Crowd]:
    crowd = Crowd()
    try:
        yield crowd
    finally:
        for task in crowd.tasks:
            task.cancel()
        if crowd.tasks:
            await asyncio.wait(crowd.tasks)
