"""A stream of subscriptions, played into a live network: each client of it has a connection of its own.

Owns: the pace, and the connections. Must not know: where the stream is from, or what brokers make of it.

Changes of one broker are made one after the other, each when the one before is acknowledged; those of different brokers
at once. So a network that is slower than the stream holds it up, and how far it was behind is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

from reknit.client.connection import Client, connect
from reknit.client.errors import BadRequest
from reknit.client.event import Event
from reknit.client.subscription import Subscription
from reknit.trace.wishes import Wish

__all__ = ["CLIENTS_MAX", "Pace", "Played", "replay"]

CLIENTS_MAX = 1_000
"""Connections at once, unless told otherwise: each takes a file of this process."""
WAITING_MAX = 256
"""Changes of one broker that are due, and not made yet; then the stream waits."""

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Pace:
    speed: float = 1.0
    """How many times as fast as it was; 0: as fast as it goes."""
    hold_s: float = 0.0
    """How long clients stay when the stream has ended."""
    clients_max: int = CLIENTS_MAX


@dataclass(slots=True)
class Played:
    subscribes: int = 0
    unsubscribes: int = 0
    clients: int = 0
    events: int = 0
    """That came for them meanwhile."""
    behind_s_max: float = 0.0
    """How much later than it was due a change was made."""

    @property
    def changes(self) -> int:
        return self.subscribes + self.unsubscribes


async def replay(
    addresses: Mapping[str, Address],
    wishes: Iterable[Wish],
    pace: Pace,
    tell: Callable[[Played], None] = lambda played: None,
) -> Played:
    """``addresses``: of the brokers' MQTT doors, by name. ``ClientError`` if one cannot be reached, or refuses."""
    played, ended = Played(), asyncio.Event()
    lanes = {name: _Lane(address, played, pace, ended) for name, address in addresses.items()}
    try:
        async with asyncio.TaskGroup() as tasks:
            for lane in lanes.values():
                tasks.create_task(lane.run())
            await _feed(lanes, wishes, pace, lambda: tell(played))
            await asyncio.sleep(pace.hold_s)
            ended.set()
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return played


async def _feed(lanes: Mapping[str, _Lane], wishes: Iterable[Wish], pace: Pace, tell: Callable[[], None]) -> None:
    now = asyncio.get_running_loop().time
    begun, first = now(), None
    for wish in wishes:
        if (lane := lanes.get(wish.broker)) is None:
            raise BadRequest(f"the stream has a broker {wish.broker}, and nobody has said where it is")
        first = wish.at if first is None else first
        due = begun + (wish.at - first) / pace.speed if pace.speed > 0 else now()
        if due > now():
            await asyncio.sleep(due - now())
        await lane.waiting.put((due, wish))
        tell()
    for lane in lanes.values():
        await lane.waiting.put(None)
    for lane in lanes.values():
        await lane.waiting.join()
    tell()


class _Lane:
    """The clients of one broker."""

    def __init__(self, address: Address, played: Played, pace: Pace, ended: asyncio.Event) -> None:
        self.waiting: asyncio.Queue[tuple[float, Wish] | None] = asyncio.Queue(WAITING_MAX)
        self._address = address
        self._played = played
        self._pace = pace
        self._ended = ended
        self._clients: dict[str, Client] = {}
        self._held: dict[tuple[str, str], Subscription] = {}

    async def run(self) -> None:
        now = asyncio.get_running_loop().time
        async with AsyncExitStack() as connections:
            while (given := await self.waiting.get()) is not None:
                due, wish = given
                await self._play(wish, connections)
                self._played.behind_s_max = max(self._played.behind_s_max, now() - due)
                self.waiting.task_done()
            self.waiting.task_done()
            await self._ended.wait()

    async def _play(self, wish: Wish, connections: AsyncExitStack) -> None:
        key = (wish.client, wish.topic)
        if wish.wanted:
            client = self._clients.get(wish.client) or await self._connect(wish.client, connections)
            if key not in self._held:
                self._held[key] = wanted = _Counted(client, wish.topic, self._played)
                await client.join(wanted)
            self._played.subscribes += 1
        else:
            if (held := self._held.pop(key, None)) is not None:
                await self._clients[wish.client].leave(held)
            self._played.unsubscribes += 1

    async def _connect(self, name: str, connections: AsyncExitStack) -> Client:
        if self._played.clients >= self._pace.clients_max:
            raise BadRequest(f"the stream has more than {self._pace.clients_max} clients; take fewer, or allow more")
        client = await connections.enter_async_context(connect(*self._address, client_id=name))
        self._clients[name] = client
        self._played.clients += 1
        return client


class _Counted(Subscription):
    """Its events are counted, and not kept."""

    def __init__(self, client: Client, topic: str, played: Played) -> None:
        super().__init__(client, (topic,), "", 0)
        self._played = played

    def put(self, event: Event) -> None:
        self._played.events += 1
