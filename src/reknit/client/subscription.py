"""A client's subscriptions, and which of them an event is for.

Owns: the queues, the grouping by topic filter and the dispatch. Must not know: sockets, or how a subscription is sent.

In MQTT a client has one subscription for each topic filter; a second one replaces the first. Here a program may hold
several with different selectors on one filter. So those that share a filter are a *group*: the broker is asked for any
of their selectors, joined with ``OR``, under one subscription identifier, and hands over one copy of an event. Inside
the group, and only there, selectors are evaluated again, by the same code that the brokers use.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from paho.mqtt.client import MQTTMessage

from reknit.client.errors import FellBehind
from reknit.client.event import Event, from_message, subscription_ids, to_model
from reknit.client.properties import USER, Pairs
from reknit.model.event import ORDER_PROPERTY

if TYPE_CHECKING:
    from reknit.client.connection import Client

__all__ = ["QUEUE_EVENTS_MAX", "Everything", "Group", "Groups", "Subscription"]

QUEUE_EVENTS_MAX = 100_000
"""Events that wait for one subscription's loop; beyond it that loop gets ``FellBehind``."""


class Subscription:
    """``async with client.subscribe(...) as events: async for event in events: ...``."""

    def __init__(
        self,
        client: Client,
        topics: tuple[str, ...],
        where: str,
        qos: int,
        properties: Pairs = (),
        order_s: float = 0.0,
    ) -> None:
        self.topics = topics
        self.where = where
        self.qos = qos
        self.properties = properties
        self.order_s = order_s
        self._client = client
        self._events: deque[Event] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        await self._client.join(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        self._wake()
        await self._client.leave(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            if self._error is not None:
                raise self._error
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._events.popleft()

    def put(self, event: Event) -> None:
        if self._error is not None:
            return
        if len(self._events) >= QUEUE_EVENTS_MAX:
            self.fail(FellBehind(f"{', '.join(self.topics)}: more than {QUEUE_EVENTS_MAX} events wait to be taken"))
            return
        self._events.append(event)
        self._wake()

    def fail(self, error: Exception) -> None:
        """What has come before the error is still handed out; then the error is."""
        if self._error is None:
            self._error = error
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Everything(Subscription):
    """Takes all that comes for the client, and leaves behind what it has subscribed to. See ``Client.everything``."""

    def __init__(self, client: Client, topics: tuple[str, ...], where: str, qos: int, properties: Pairs = ()) -> None:
        super().__init__(client, topics, where, qos, properties)
        client.take_everything(self)

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        self._wake()


@dataclass(slots=True)
class Group:
    """The subscriptions of one topic filter; ``identifier`` is theirs together."""

    topic: str
    identifier: int
    members: list[Subscription] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The selector that is true where any member's is."""
        selectors = list(dict.fromkeys(member.where for member in self.members))
        if "" in selectors or not selectors:
            return ""
        return selectors[0] if len(selectors) == 1 else " OR ".join(f"({selector})" for selector in selectors)

    @property
    def qos(self) -> int:
        return max(member.qos for member in self.members)

    @property
    def order_s(self) -> float:
        """For how long events may wait for earlier ones: as long as any member lets them."""
        return max(member.order_s for member in self.members)

    @property
    def properties(self) -> Pairs:
        """Those that members want beside their selectors."""
        order: Pairs = ((USER, (ORDER_PROPERTY, f"{self.order_s:g}")),) if self.order_s else ()
        return tuple(dict.fromkeys((*order, *(pair for member in self.members for pair in member.properties))))

    @property
    def mixed(self) -> bool:
        """Whether an event for the group may not be for each member."""
        return len({member.where for member in self.members}) > 1


class Groups:
    """All groups of one client."""

    def __init__(self, json_attributes: bool) -> None:
        self._json_attributes = json_attributes
        self._by_topic: dict[str, Group] = {}
        self._by_id: dict[int, Group] = {}
        self._last_id = 0
        self.taker: Subscription | None = None
        """Whoever gets all, whatever the filters."""

    @property
    def members(self) -> list[Subscription]:
        """Every subscription, once."""
        own = [self.taker] if self.taker is not None else []
        return list(dict.fromkeys([*own, *(member for group in self.all for member in group.members)]))

    @property
    def all(self) -> list[Group]:
        return list(self._by_topic.values())

    def group(self, topic: str) -> Group:
        """The group of this filter, new if there is none."""
        if (found := self._by_topic.get(topic)) is None:
            self._last_id += 1
            found = Group(topic, self._last_id)
            self._by_topic[topic] = self._by_id[found.identifier] = found
        return found

    def drop(self, group: Group) -> None:
        del self._by_topic[group.topic], self._by_id[group.identifier]

    def dispatch(self, message: MQTTMessage) -> None:
        """Hand the event to each subscription that wants it, once, however many of its filters match."""
        if self.taker is not None:
            self.taker.put(from_message(message))
            return
        wanted: dict[Subscription, None] = {}
        for group in self._groups_for(message):
            mixed = group.mixed
            for member in group.members:
                if not mixed or self._matches(group.topic, member.where, message):
                    wanted[member] = None
        event = from_message(message)
        for member in wanted:
            member.put(event)

    def _groups_for(self, message: MQTTMessage) -> list[Group]:
        if identifiers := subscription_ids(message):
            return [self._by_id[number] for number in identifiers if number in self._by_id]
        from reknit.model.topic import topic_matches

        return [group for group in self._by_topic.values() if topic_matches(group.topic, message.topic)]

    def _matches(self, topic: str, where: str, message: MQTTMessage) -> bool:
        from reknit.model.event import derive_attributes
        from reknit.model.pattern import Pattern

        event = to_model(message)
        if self._json_attributes:
            event.derived = derive_attributes(event.payload)
        return Pattern.parse(topic, where).matches(event)
