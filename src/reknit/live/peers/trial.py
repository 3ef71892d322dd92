"""Many peers in one process, on real sockets of this machine: they gather, some publish, and what comes is counted.

Every peer is in one community. Whoever is in a community at or above an event's topic is owed that event; whatever else
comes to a peer is a parasite, whether it was delivered or only had to be turned away.

Owns: how a trial is played, and its counts. Must not know: what counts are good.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import msgspec

from reknit.community.hierarchy import Hierarchy
from reknit.community.io import Deliver
from reknit.community.options import CourierOptions, PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.live.peers.member import LivePeer, peer
from reknit.trace.records import Record

__all__ = ["Crowd", "Reached", "TrialOutcome", "TrialPlan", "brisk", "run_trial"]

CONTACTS = 2
"""Peers that a newcomer is told of."""
COMING_S = 0.005
"""Between two that come: what one has caused is nearly over before the next comes."""
LOOK_S = 0.1
QUIET_S = 0.3
"""Nothing has been delivered for so long: nothing is on its way any more."""
QUIET_S_MAX = 20.0

PEERS_PER_HEARTBEAT_S = 60
"""All peers share one processor: the more there are, the more seldom each says that it lives."""
HEARTBEAT_S_MIN = 0.5


def brisk(peers: int, topic: TopicOptions | None = None) -> PeerOptions:
    """Options for a trial of so many: what takes minutes in earnest takes seconds. ``topic``: the rest of its terms."""
    scamp = ScampOptions(
        lease_s=120.0, heartbeat_s=max(HEARTBEAT_S_MIN, peers / PEERS_PER_HEARTBEAT_S), walk_hops=2, reunion_s=30.0
    )
    supers = SuperOptions(check_s=5.0, answer_s=3.0, search_s=0.5, search_s_max=4.0)
    terms = msgspec.structs.replace(topic or TopicOptions(), scamp=scamp, supers=supers)
    return PeerOptions(topic=terms, courier=CourierOptions(retry_s=0.5, backoff=2.0), pending_s_max=2.0)


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """``sizes``: by topic, how many peers are in its community. Events are of ``topic``, or of the last of those."""

    sizes: tuple[tuple[str, int], ...]
    events: int = 10
    events_per_s: float = 10.0
    payload_bytes: int = 32
    topic: str = ""
    options: PeerOptions | None = None
    """None: ``brisk`` ones."""
    secret: bytes = b""
    seed: int = 1
    settle_s_max: float = 60.0

    @property
    def peers(self) -> int:
        return sum(count for _, count in self.sizes)

    @property
    def published_on(self) -> str:
        return self.topic or self.sizes[-1][0]


@dataclass(slots=True)
class Reached:
    """What one community has got. ``whole``: events that all its members have got. ``rounds``: mean over events."""

    topic: str
    members: int
    owed: int = 0
    delivered: int = 0
    whole: int = 0
    copies: int = 0
    rounds: float = 0.0


@dataclass(slots=True)
class TrialOutcome:
    peers: int
    settled: bool
    """Whether everybody knew enough others before the first event."""
    settle_s: float
    published: int
    delivered: int
    parasites: int
    seconds: float
    """From the first event to the last delivery."""
    processor_s: float
    """Of this process, in the same time."""
    latency_s: float
    """Of the median delivery."""
    datagrams: int
    datagram_bytes_max: int
    communities: list[Reached] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)

    @property
    def delivered_per_s(self) -> float:
        return self.delivered / max(self.seconds, 1e-9)


class Crowd:
    """The peers, and who has got what."""

    def __init__(self, plan: TrialPlan, observe: Callable[[Record], None] | None) -> None:
        self.plan = plan
        self.rng = random.Random(f"{plan.seed}/trial")
        self.options = plan.options or brisk(plan.peers)
        self.hierarchy = Hierarchy(self.options.parents)
        self.peers: list[tuple[str, LivePeer]] = []
        self.topic_of: dict[str, str] = {}  # by address
        self.got: dict[tuple[str, int], dict[str, int]] = {}  # by event: whom it has reached, and in which round
        self.sent_at: dict[tuple[str, int], float] = {}
        self.latencies: list[float] = []
        self.parasites = 0
        self.last_at = 0.0
        self._observe = observe

    # --- gathering

    async def gather(self, undo: AsyncExitStack) -> None:
        topics = [topic for topic, count in self.plan.sizes for _ in range(count)]
        self.rng.shuffle(topics)
        known: list[str] = []
        for topic in topics:
            contacts = self.rng.sample(known, min(CONTACTS, len(known)))
            each = peer(contacts=contacts, secret=self.plan.secret, options=self.options, observe=self._observe)
            each.goodbye_s_max = 0.0  # all end together, and nobody is left to care
            await undo.enter_async_context(each)
            known.append(each.address)
            self.peers.append((topic, each))
            self.topic_of[each.address] = topic
            each.driver.set_deliver(self._taker(topic, each.address))
            each.subscribe(topic, callback=lambda event: None)
            await asyncio.sleep(COMING_S)

    def _taker(self, topic: str, address: str) -> Callable[[Deliver], None]:
        def take(deliver: Deliver) -> None:
            event = deliver.event
            now = self.last_at = time.monotonic()
            if topic not in self.hierarchy.ladder(event.topic):
                self.parasites += 1
            self.got.setdefault(event.id, {})[address] = deliver.hops
            if event.id in self.sent_at:
                self.latencies.append(now - self.sent_at[event.id])

        return take

    async def settle(self) -> bool:
        """Until everybody knows enough others: whether that was in time."""
        end = time.monotonic() + self.plan.settle_s_max
        while not self.is_settled():
            if time.monotonic() >= end:
                return False
            await asyncio.sleep(LOOK_S)
        return True

    def is_settled(self) -> bool:
        return all(self._is_linked_up(topic) and self._hangs_together(topic) for topic, _ in self.plan.sizes)

    def members(self, topic: str) -> list[LivePeer]:
        return [each for its, each in self.peers if its == topic]

    def _is_linked_up(self, topic: str) -> bool:
        above = [t for t, _ in self.plan.sizes if t != topic and t in self.hierarchy.ladder(topic)]
        if not above:
            return True
        supers = [table for each in self.members(topic) for table in each.core.communities[topic].supers]
        return all(table.entries for table in supers)

    def _hangs_together(self, topic: str) -> bool:
        """Whether gossip can get from each member to each other, and most know about how many there are."""
        members = self.members(topic)
        views = {each.address: list(each.core.communities[topic].membership.view) for each in members}
        back: dict[str, list[str]] = {address: [] for address in views}
        for address, view in views.items():
            for other in view:
                back.setdefault(other, []).append(address)
        first = members[0].address
        if len(_reachable(first, views)) < len(members) or len(_reachable(first, back)) < len(members):
            return False
        counts = sorted(each.core.communities[topic].membership.population() for each in members)
        return counts[len(counts) // 4] >= 0.5 * len(members)

    # --- events

    async def publish(self) -> None:
        plan = self.plan
        able = self.members(plan.published_on) or [each for _, each in self.peers]
        due = time.monotonic()
        for _ in range(plan.events):
            publisher = self.rng.choice(able)
            begun = time.monotonic()
            await publisher.publish(plan.published_on, bytes(plan.payload_bytes))
            core = publisher.core
            self.sent_at[core.source, core.published] = begun
            due += 1.0 / plan.events_per_s
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def until_quiet(self) -> None:
        self.last_at = self.last_at or time.monotonic()
        for _ in range(round(QUIET_S_MAX / LOOK_S)):
            if time.monotonic() - self.last_at >= QUIET_S:
                return
            await asyncio.sleep(LOOK_S)

    # --- the count

    def outcome(self, settled: bool, settle_s: float, seconds: float, processor_s: float = 0.0) -> TrialOutcome:
        counters: dict[str, int] = {}
        for _, each in self.peers:
            for name, value in each.counters.items():
                counters[name] = counters.get(name, 0) + value
        turned_away = counters.get("strays", 0) + counters.get("misled", 0)
        self.latencies.sort()
        return TrialOutcome(
            peers=len(self.peers),
            settled=settled,
            settle_s=settle_s,
            published=len(self.sent_at),
            delivered=sum(map(len, self.got.values())),
            parasites=self.parasites + turned_away,
            seconds=seconds,
            processor_s=processor_s,
            latency_s=self.latencies[len(self.latencies) // 2] if self.latencies else 0.0,
            datagrams=counters.get("datagrams_out", 0),
            datagram_bytes_max=max(each.driver.port.datagram_bytes_max for _, each in self.peers),
            communities=[self.reached(topic) for topic, _ in self.plan.sizes],
            counters=counters,
        )

    def reached(self, topic: str) -> Reached:
        """What its members have got of the events that were published."""
        members = self.members(topic)
        addresses = {each.address for each in members}
        copies = sum(each.counters.get("copies", 0) for each in members)
        found = Reached(topic, len(members), copies=copies)
        if topic not in self.hierarchy.ladder(self.plan.published_on):
            return found
        rounds: list[int] = []
        for event in self.sent_at:
            mine = [hops for address, hops in self.got.get(event, {}).items() if address in addresses]
            found.owed += len(members)
            found.delivered += len(mine)
            found.whole += len(mine) == len(members)
            rounds += [max(mine)] if mine else []
        found.rounds = sum(rounds) / len(rounds) if rounds else 0.0
        return found


def _reachable(first: str, ways: dict[str, list[str]]) -> set[str]:
    found, left = {first}, [first]
    while left:
        for other in _known(ways.get(left.pop(), ()), ways):
            if other not in found:
                found.add(other)
                left.append(other)
    return found


def _known(others: Iterable[str], ways: dict[str, list[str]]) -> Iterator[str]:
    """Without those that are no members (any more)."""
    return (other for other in others if other in ways)


async def run_trial(plan: TrialPlan, observe: Callable[[Record], None] | None = None) -> TrialOutcome:
    crowd = Crowd(plan, observe)
    async with AsyncExitStack() as undo:
        began = time.monotonic()
        await crowd.gather(undo)
        settled = await crowd.settle()
        settle_s = time.monotonic() - began
        began, processor = time.monotonic(), time.process_time()
        await crowd.publish()
        await crowd.until_quiet()
        spent = time.process_time() - processor
        return crowd.outcome(settled, settle_s, max(crowd.last_at - began, 1e-9), spent)
