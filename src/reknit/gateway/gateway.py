"""What crosses between a tree of brokers and communities of peers: each event once, and back never.

A gateway is a client of its broker, subscribed to all of its topics, and a member of their communities. What brokers
bring it publishes in the community of the event's topic, as any publisher does; so it goes to whoever wants it, and up
from there, and nowhere else. It keeps the id that its broker gave it: where several gateways of one tree publish it,
peers take it for the same. What peers bring one gateway alone publishes at its broker, since brokers would take the
others' for new ones: of those that hear of each other over the tree, and have a topic that includes the event's, by
its name or by the parents that topics were given, the first by name. A gateway that has just begun waits a moment to
hear of others, and keeps what comes meanwhile.

Both sides have names. An event says through which it has come, and does not go to a side that it knows.

Owns: which events cross, and who passes them on. Must not know: brokers, peers, or how either is reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from reknit.community.hierarchy import Hierarchy, filter_of
from reknit.community.io import Input, Join, Leave, Publish
from reknit.community.seen import Seen
from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern

__all__ = ["HERALDS", "ORIGIN", "THROUGH", "Gateway", "GatewayOptions"]

HERALDS = "$reknit/gateways"
"""Below it, under its own name, each gateway says to the others of its tree that it lives."""

THROUGH = "reknit-through"
"""The property that names the sides which an event has come through, with a space between."""

ORIGIN = "reknit-origin"
"""The property that has its id on the side where it was published."""

SEEN_MAX = 20_000
OTHERS_MAX = 256
HELD_MAX = 1000
"""Events of peers that wait until it is known who passes them on."""


class GatewayOptions(msgspec.Struct, frozen=True):
    topics: tuple[str, ...] = ()
    brokers: str = "brokers"
    """The name of this side. Trees that are not one tree have different names."""
    peers: str = "peers"
    """The name of the other."""
    beat_s: float = 1.0
    """Every so often gateways of a tree say that they live."""
    lost_s: float = 3.5
    """Who has not said so for so long does not."""
    listen_s: float = 1.0
    """How long one that has just begun listens for others before it passes anything on to brokers."""
    publishing_max: int = 32
    """Communities in which it only publishes; the one that was used least lately makes room. What waits there until
    its members are found goes up at once then."""
    parents: Mapping[str, tuple[str, ...]] = {}
    """As the peers have them."""


class Gateway:
    """``name``: of its broker."""

    def __init__(self, name: str, options: GatewayOptions, now: float) -> None:
        self.name = name
        self.options = options
        self.hierarchy = Hierarchy(options.parents)
        self.client = f"$gateway.{name}"
        self.counters = {"to_peers": 0, "to_brokers": 0, "left_to_others": 0, "held_full": 0}
        self._others: dict[str, tuple[float, tuple[str, ...]]] = {}  # until when it lives, and its topics
        self._crossed: Seen[EventId] = Seen(SEEN_MAX)
        self._publishing: dict[str, None] = {}  # the one used least lately first
        self._held: list[Event] = []
        self._ready_at = now + options.listen_s
        self._beat_at = now

    # --- what it wants

    def patterns(self) -> tuple[Pattern, ...]:
        """Of its broker: what is in its topics by name, and what is below them by the parents that were given."""
        below = [topic for topic in self.options.parents if self._includes(self.options.topics, topic)]
        wanted = dict.fromkeys(map(filter_of, (*self.options.topics, *below)))
        return (*(Pattern.parse(each, "") for each in wanted), Pattern.parse(f"{HERALDS}/+", ""))

    def joins(self) -> list[Join]:
        """Of its peer."""
        return [Join(topic) for topic in self.options.topics]

    # --- from brokers

    def take_from_brokers(self, event: Event, now: float) -> list[Input]:
        """What its peer is to do."""
        if event.topic.startswith(HERALDS):
            self._hear(event, now)
            return []
        if self.options.peers in _through(event) or not self._crossed.is_first(event.id):
            return []
        self.counters["to_peers"] += 1
        return [*self._make_room(event.topic), Publish(self._marked(event, self.options.brokers))]

    def _make_room(self, topic: str) -> Iterable[Leave]:
        if topic in self.options.topics:
            return
        self._publishing.pop(topic, None)
        self._publishing[topic] = None
        if len(self._publishing) > self.options.publishing_max:
            oldest = next(iter(self._publishing))
            del self._publishing[oldest]
            yield Leave(oldest)

    # --- from peers

    def take_from_peers(self, event: Event, now: float) -> list[Event]:
        """What its broker is to publish."""
        if self.options.brokers in _through(event) or not self._crossed.is_first(event.id):
            return []
        if now >= self._ready_at:
            return self._passed_on(event, now)
        if len(self._held) >= HELD_MAX:
            self.counters["held_full"] += 1
        else:
            self._held.append(event)
        return []

    def _passed_on(self, event: Event, now: float) -> list[Event]:
        if self.who_passes(event.topic, now) != self.name:
            self.counters["left_to_others"] += 1
            return []
        self.counters["to_brokers"] += 1
        marked = self._marked(event, self.options.peers)
        marked.source, marked.seq = "", 0
        return [marked]

    def who_passes(self, topic: str, now: float) -> str:
        living = [
            name for name, (until, topics) in self._others.items() if until > now and self._includes(topics, topic)
        ]
        return min(self.name, *living) if living else self.name

    def _includes(self, communities: Iterable[str], topic: str) -> bool:
        ladder = self.hierarchy.ladder(topic)
        return any(each in ladder for each in communities)

    def _marked(self, event: Event, side: str) -> Event:
        properties = [pair for pair in event.properties if pair[0] not in (THROUGH, ORIGIN)]
        origin = dict(event.properties).get(ORIGIN, f"{event.source}/{event.seq}")
        properties += [(THROUGH, " ".join([*_through(event), side])), (ORIGIN, origin)]
        # Of what brokers say of an event to each other nothing is true elsewhere.
        return msgspec.structs.replace(event, properties=tuple(properties), sharing=None, number=None, marks=b"")

    # --- other gateways

    def _hear(self, herald: Event, now: float) -> None:
        name = herald.topic.removeprefix(f"{HERALDS}/")
        if name == self.name or (name not in self._others and len(self._others) >= OTHERS_MAX):
            return
        if name not in self._others:
            self._beat_at = now  # it is to hear of us at once
        topics = tuple(herald.payload.decode(errors="replace").split("\n"))
        self._others[name] = (now + self.options.lost_s, topics)

    # --- time

    def deadline(self) -> float:
        return min(self._beat_at, self._ready_at) if self._held else self._beat_at

    def due(self, now: float) -> list[Event]:
        """What its broker is to publish: that it lives, and what had to wait."""
        events: list[Event] = []
        if self._beat_at <= now:
            self._beat_at = now + self.options.beat_s
            self._others = {name: each for name, each in self._others.items() if each[0] > now}
            events.append(Event(f"{HERALDS}/{self.name}", "\n".join(self.options.topics).encode()))
        if now >= self._ready_at and self._held:
            held, self._held = self._held, []
            events += [passed for event in held for passed in self._passed_on(event, now)]
        return events


def _through(event: Event) -> list[str]:
    return dict(event.properties).get(THROUGH, "").split()
