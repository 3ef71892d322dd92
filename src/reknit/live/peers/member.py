"""The Python interface of a peer: ``async with reknit.peer(...) as peer``.

async with reknit.peer(contacts=["127.0.0.1:7400"]) as peer:
    async for event in peer.subscribe("soccer/italy"):
        print(event.topic, event.payload)

A community is what everybody who has subscribed to its topic is in, and whoever publishes there. Several subscriptions
of one program to one topic are one membership; selectors are applied at delivery, for each of them.

Owns: subscriptions, their queues and callbacks; beginning and end of a peer. Must not know: how an event is spread.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Self

from reknit.community.hierarchy import filter_of
from reknit.community.io import Deliver, Join, Leave, Meet
from reknit.community.options import PeerOptions
from reknit.community.peer import Peer
from reknit.gateway.gateway import ORIGIN, THROUGH
from reknit.live.address import Address, parse_address
from reknit.live.errors import ConfigError, LiveError
from reknit.live.guard import is_loopback
from reknit.live.peers.driver import PeerDriver
from reknit.live.peers.parcels import WORD_BYTES_MAX
from reknit.live.peers.places import look_up
from reknit.live.peers.port import port_open
from reknit.model.event import Event, Scalar, check_attributes, event_bytes
from reknit.model.pattern import Pattern
from reknit.trace.records import Record
from reknit.wire.peers import check_community

__all__ = [
    "QUEUE_EVENTS_MAX",
    "Community",
    "FellBehind",
    "LivePeer",
    "PeerClosed",
    "PeerEvent",
    "Subscription",
    "TooLarge",
    "peer",
]

_log = logging.getLogger("reknit.live.peers")

QUEUE_EVENTS_MAX = 100_000
"""Events that wait for one subscription's loop; beyond it that loop gets ``FellBehind``."""

GOODBYE_S_MAX = 1.0
"""At its end a peer waits so long for those whom it tells to confirm that."""

EVENT_BYTES_MAX = WORD_BYTES_MAX - 64 * 1024
"""Beside an event, a word says which way it has come."""

_EVERYWHERE = ("0.0.0.0", "::")


class PeerClosed(LiveError):
    """The peer has ended."""


class FellBehind(LiveError):
    """Events came faster than they were taken, for too long; some are lost."""


class TooLarge(ValueError):
    """An event that no peer would take."""


@dataclass(frozen=True, slots=True)
class PeerEvent:
    """One event, as a member of a community sees it."""

    topic: str
    payload: bytes
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    content_type: str = ""
    community: str = ""
    """Through which it came first."""
    hops: int = 0
    """From its publisher to here."""
    id: tuple[str, int] = field(default=("", 0), compare=False)


class Subscription:
    """An async iterator over events; also a context, which leaves at its end."""

    def __init__(self, owner: LivePeer, topic: str, where: str, callback: Callable[[PeerEvent], None] | None) -> None:
        self.topic = topic
        self.where = where
        self._owner = owner
        self._pattern = Pattern.parse(filter_of(topic), where)
        self._callback = callback
        self._events: deque[PeerEvent] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """End it; and the membership, if it was the last one that held it."""
        if not self._closed:
            self.end(None)
            self._owner.drop(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> PeerEvent:
        while not self._events:
            if self._error is not None:
                raise self._error
            if self._closed:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._events.popleft()

    def wants(self, event: Event) -> bool:
        """By the selector: that it belongs here is for the communities to say, which may have parents of any name."""
        return not self._pattern.selector or Pattern("#", self._pattern.selector).matches(event)

    def put(self, event: PeerEvent) -> None:
        if self._callback is not None:
            self._call(self._callback, event)
        elif len(self._events) >= QUEUE_EVENTS_MAX:
            self.end(FellBehind(f"{self.topic}: more than {QUEUE_EVENTS_MAX} events wait to be taken"))
        elif self._error is None:
            self._events.append(event)
            self._wake()

    def _call(self, callback: Callable[[PeerEvent], None], event: PeerEvent) -> None:
        """Whatever it does, others get the event, and so does the rest of the community."""
        try:
            callback(event)
        except Exception:  # the user's, so it ends neither the peer's turn nor whoever publishes
            self._owner.callback_failures += 1
            _log.exception("the callback for %s failed", self.topic)

    def end(self, error: Exception | None) -> None:
        """What has come before is still handed out."""
        self._closed = True
        self._error = self._error or error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


@dataclass(frozen=True, slots=True)
class Community:
    """One topic's, of one peer."""

    owner: LivePeer
    topic: str

    def subscribe(self, where: str = "", callback: Callable[[PeerEvent], None] | None = None) -> Subscription:
        return self.owner.subscribe(self.topic, where, callback)

    async def publish(self, payload: bytes | str = b"", **attributes: Scalar) -> None:
        await self.owner.publish(self.topic, payload, attributes)

    def leave(self) -> None:
        self.owner.leave(self.topic)


class LivePeer:
    """See ``peer``. ``address`` is where others reach it, once it runs."""

    def __init__(
        self,
        listen: str,
        contacts: Sequence[str],
        secret: bytes,
        options: PeerOptions,
        known_as: str,
        observe: Callable[[Record], None] | None,
    ) -> None:
        self.address = ""
        self.callback_failures = 0
        self.goodbye_s_max = GOODBYE_S_MAX
        self._listen = parse_address(listen, "listen")
        self._contacts = tuple(contacts)
        self._secret = secret
        self._options = options
        self._known_as = known_as
        self._observe = observe
        self._subscriptions: list[Subscription] = []
        self._driver: PeerDriver | None = None
        self._undo = AsyncExitStack()
        if self._listen.host in _EVERYWHERE and not known_as:
            raise ConfigError(f"known_as: {self._listen.host} is everywhere, so say where others reach this peer")
        if not secret and not is_loopback(self._listen.host):
            raise ConfigError(f"listen: {listen} is not this machine's alone, so peers there need a secret")

    # --- its life

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as undo:
            port = await undo.enter_async_context(port_open(self._listen, self._secret, time.monotonic))
            family = _family(port.address)
            self.address = str(port.address)
            if self._known_as:
                self.address = await look_up(self._known_as, family, "known_as")
            contacts = tuple([await look_up(each, family, "contact") for each in self._contacts])
            life = time.time_ns() // 1_000_000
            core = Peer(self.address, self._options, random.Random(), life, time.monotonic())
            self._driver = PeerDriver(core, port, self._deliver, self._observe or (lambda record: None))
            self._driver.give(Meet(contacts))
            undo.callback(self._driver.stop)
            self._undo = undo.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave all communities, which others are told until they have confirmed it, and end."""
        driver = self._running()
        for topic in list(driver.peer.communities):
            driver.give(Leave(topic))
        for subscription in self._subscriptions:
            subscription.end(None)
        self._subscriptions.clear()
        self._driver = None
        async with self._undo:
            await driver.said_goodbye(self.goodbye_s_max)

    def _running(self) -> PeerDriver:
        if self._driver is None:
            raise PeerClosed("this peer does not run; use it inside `async with`")
        return self._driver

    @property
    def core(self) -> Peer:
        return self._running().peer

    @property
    def driver(self) -> PeerDriver:
        return self._running()

    @property
    def counters(self) -> dict[str, int]:
        """What has gone wrong, or come that should not have, and how often."""
        driver = self._running()
        traffic = {"datagrams_in": driver.port.datagrams_in, "datagrams_out": driver.port.datagrams_out}
        failed = {"callback_failures": self.callback_failures, "failures": driver.failures}
        return {**traffic, **driver.port.counters, **driver.peer.counters, **failed}

    # --- communities

    def community(self, topic: str) -> Community:
        """``BadTopic`` if there is none of this name."""
        check_community(topic)
        return Community(self, topic)

    def subscribe(
        self, topic: str, where: str = "", callback: Callable[[PeerEvent], None] | None = None
    ) -> Subscription:
        """Become a member at once. Without ``callback``, events are taken with ``async for``."""
        driver = self._running()
        check_community(topic)
        subscription = Subscription(self, topic, where, callback)
        if not any(each.topic == topic for each in self._subscriptions):
            driver.give(Join(topic))
        self._subscriptions.append(subscription)
        return subscription

    def drop(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            if self._driver is not None and not any(each.topic == subscription.topic for each in self._subscriptions):
                self._driver.give(Leave(subscription.topic))

    def leave(self, topic: str) -> None:
        """End all subscriptions to this topic, and publishing there."""
        for subscription in [each for each in self._subscriptions if each.topic == topic]:
            subscription.leave()
        self._running().give(Leave(topic))

    async def publish(
        self,
        topic: str,
        payload: bytes | str = b"",
        attributes: Mapping[str, Scalar] | None = None,
        content_type: str = "",
        **more: Scalar,
    ) -> None:
        """In the community of ``topic``, becoming a member that only publishes if need be."""
        data = payload.encode() if isinstance(payload, str) else payload
        named = check_attributes({**(attributes or {}), **more})
        event = Event(topic, data, attributes=named, content_type=content_type)
        if event_bytes(event) > EVENT_BYTES_MAX:
            raise TooLarge(f"an event of {event_bytes(event)} bytes, over the {EVENT_BYTES_MAX} that are allowed")
        await self._running().publish(event)

    def _deliver(self, deliver: Deliver) -> None:
        """To each subscription above or at the event's topic, once, through whichever community it has come."""
        event, hierarchy = deliver.event, self.core.hierarchy
        above = {*hierarchy.ladder(deliver.topic), *hierarchy.ladder(event.topic)}
        shown: PeerEvent | None = None
        for subscription in list(self._subscriptions):
            if subscription.topic in above and subscription.wants(event):
                shown = shown or _shown(deliver)
                subscription.put(shown)


def _shown(deliver: Deliver) -> PeerEvent:
    event = deliver.event
    plain = {name: text for name, text in event.properties if name not in (THROUGH, ORIGIN)}
    attributes = {**plain, **event.attributes}
    return PeerEvent(event.topic, event.payload, attributes, event.content_type, deliver.topic, deliver.hops, event.id)


def _family(address: Address) -> int:
    import socket

    return socket.AF_INET6 if ":" in address.host else socket.AF_INET


def peer(
    listen: str = "127.0.0.1:0",
    *,
    contacts: Sequence[str] = (),
    secret: bytes = b"",
    options: PeerOptions | None = None,
    known_as: str = "",
    observe: Callable[[Record], None] | None = None,
) -> LivePeer:
    """A peer, which runs inside ``async with``.

    ``listen``: where it takes datagrams, and streams at the same number; port 0 for any. ``contacts``: any peers that
    it may ask, whatever their topics. ``secret``: what all of them share; datagrams of others are ignored.
    ``known_as``: where others reach it, if not at ``listen``. ``options``: what the paper lets one choose, by topic.
    """
    return LivePeer(listen, contacts, secret, options or PeerOptions(), known_as, observe)
