"""The live shell of a gateway: the peer beside a broker, and what goes from one to the other.

Owns: the peer, the alarm, the order of beginning and end. Must not know: which events cross.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from reknit.community.io import Deliver, Publish
from reknit.community.peer import TooMany
from reknit.core.io import Attach, Subscribe
from reknit.core.io import Publish as PublishAtBroker
from reknit.gateway.broker import MemberBroker
from reknit.gateway.gateway import Gateway, GatewayOptions
from reknit.live.communities import CommunitiesSection, make_peer
from reknit.live.driver import Driver
from reknit.live.peers.member import LivePeer
from reknit.model.event import Event

__all__ = ["LiveGateway", "gateway_open"]


class LiveGateway:
    """``append`` is what the broker puts aside."""

    def __init__(self, gateway: Gateway, driver: Driver, broker: MemberBroker, member: LivePeer) -> None:
        self.gateway = gateway
        self.member = member
        self.refused = 0
        self._driver = driver
        self._broker = broker
        self._loop = asyncio.get_running_loop()
        self._outward: list[Event] = []
        self._alarm: asyncio.TimerHandle | None = None
        member.driver.set_deliver(self._from_peers)

    def counters(self) -> dict[str, dict[str, int]]:
        """What has crossed, and what the peer has seen."""
        return {"gateway": {**self.gateway.counters, "refused": self.refused}, "peer": self.member.counters}

    def start(self) -> None:
        self._driver.gateway = self.counters
        for join in self.gateway.joins():
            self.member.driver.give(join)
        client = self.gateway.client
        self._broker.enter(client, self)
        self._driver.turn(Attach(client))
        self._driver.turn(Subscribe(client, self.gateway.patterns()))
        self._due()

    def stop(self) -> None:
        self._driver.gateway = None
        if self._alarm is not None:
            self._alarm.cancel()

    # --- from brokers

    def append(self, event: Event, /) -> None:
        """In the middle of the broker's turn: the peer has its own after it."""
        if not self._outward:
            self._loop.call_soon(self._pour_out)
        self._outward.append(event)

    def _pour_out(self) -> None:
        outward, self._outward = self._outward, []
        for event in outward:
            for given in self.gateway.take_from_brokers(event, self._loop.time()):
                try:
                    self.member.driver.give(given)
                except TooMany:
                    self.refused += isinstance(given, Publish)
        self._look()

    # --- from peers

    def _from_peers(self, deliver: Deliver) -> None:
        self._publish(self.gateway.take_from_peers(deliver.event, self._loop.time()))
        self._look()

    def _publish(self, events: list[Event]) -> None:
        if events and self._broker.inner:
            self._driver.turn(PublishAtBroker(self._broker.inner, events))

    # --- time

    def _due(self) -> None:
        self._alarm = None
        self._publish(self.gateway.due(self._loop.time()))
        self._look()

    def _look(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._loop.call_at(self.gateway.deadline(), self._due)


@contextlib.asynccontextmanager
async def gateway_open(section: CommunitiesSection, driver: Driver) -> AsyncIterator[LiveGateway | None]:
    """Inside, the broker is a member; nothing at all if it has no topics to be one for."""
    broker = driver.broker
    if not section.topics or not isinstance(broker, MemberBroker):
        yield None
        return
    async with make_peer(section) as member:
        options = GatewayOptions(section.topics, section.brokers, section.peers, parents=section.parents)
        gateway = Gateway(broker.name, options, asyncio.get_running_loop().time())
        live = LiveGateway(gateway, driver, broker, member)
        live.start()
        try:
            yield live
        finally:
            live.stop()
