"""Three communities of real peers on real sockets of this machine, and events at several probabilities of rising.

As in the second half of CAMCAST's evaluation: nobody fails, tables come from a membership, and what is varied is how
likely a member passes an event upward. All probabilities are tried on the same gathering, one after the other, since
gathering is what takes time. The peers, their sockets and their clocks are real, so two runs are never quite the same.

Owns: one such gathering, and what is counted. Must not know: what an experiment is after.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import msgspec

from reknit.community.options import TopicOptions
from reknit.live.peers.trial import Crowd, TrialPlan, brisk
from reknit.model.event import EventId
from reknit.trace.records import Kind, Record

__all__ = ["TOPICS", "Level", "Tried", "try_gathering"]

TOPICS = ("a", "a/d", "a/d/g")
"""The paper's three, the root first."""

A, Z = 2.0, 4
EVENTS_PER_S = 20.0


@dataclass(slots=True)
class Level:
    """One community, over all events at one probability."""

    members: int
    reception: float = 0.0
    """The share of members that got an event, on average."""
    reliability: float = 0.0
    """The share of events that all members got."""
    efficiency: float = 0.0
    """The share of messages that were the first of their event for whoever got them."""
    rounds: float = 0.0
    """Hops of the last member that was reached; 0 where nobody was."""
    upward: float = 0.0
    """Messages that came from the community below, for each event."""


@dataclass(slots=True)
class Tried:
    settled: bool
    parasites: int
    levels: dict[float, list[Level]] = field(default_factory=dict)
    """By probability; the root first."""
    few: list[Level] = field(default_factory=list)
    """The same, where a few members of each community are expected to pass an event upward."""
    forwarding: float = 0.0
    """The share of all processes that did so then, for each event."""


def try_gathering(
    sizes: Sequence[int],
    membership: str,
    c: float,
    probabilities: Sequence[float],
    events: int,
    seed: int,
    few: Sequence[float] = (),
    a: float = A,
    forced: bool = False,
) -> Tried:
    """``few``: beside the probabilities, with so many in each community that are expected to pass an event upward.

    ``forced``: besides, publishers do for certain.
    """
    topic = TopicOptions(c=c, a=a, z=Z, membership=membership, publisher_forces_upward=forced)
    options = msgspec.structs.replace(brisk(sum(sizes), topic), observe=True)
    plan = TrialPlan(
        tuple(zip(TOPICS, sizes, strict=True)), events, EVENTS_PER_S, options=options, seed=seed, settle_s_max=240.0
    )
    return asyncio.run(_try(plan, probabilities, few))


async def _try(plan: TrialPlan, probabilities: Sequence[float], few: Sequence[float]) -> Tried:
    risen: Counter[tuple[EventId, str]] = Counter()
    forwarding: dict[tuple[EventId, str], None] = {}  # events, and who has passed them upward

    def note(record: Record) -> None:
        """A message to a community that its sender is not in has risen; which one that is its detail says."""
        if record.kind is not Kind.FORWARDED or record.event is None:
            return
        if crowd.topic_of.get(record.node) != record.detail:
            risen[record.event.id, record.detail] += 1
            forwarding[record.event.id, record.node] = None

    crowd = Crowd(plan, note)
    async with AsyncExitStack() as undo:
        await crowd.gather(undo)
        tried = Tried(await crowd.settle(), 0)
        for probability in probabilities:
            _set(crowd, dict.fromkeys(TOPICS, probability))
            tried.levels[probability] = await _events(crowd, risen)
        if few:
            shares = zip(TOPICS, few, strict=True)
            _set(crowd, {topic: min(1.0, each / len(crowd.members(topic))) for topic, each in shares})
            tried.few = await _events(crowd, risen)
            senders = sum(event in crowd.sent_at for event, _ in forwarding)
            tried.forwarding = senders / len(crowd.sent_at) / len(crowd.peers)
        tried.parasites = crowd.outcome(tried.settled, 0.0, 1.0).parasites
    return tried


def _set(crowd: Crowd, probabilities: Mapping[str, float]) -> None:
    for topic, each in crowd.peers:
        community = each.core.communities[topic]
        community.options = msgspec.structs.replace(community.options, p_sel=probabilities[topic])


async def _events(crowd: Crowd, risen: Counter[tuple[EventId, str]]) -> list[Level]:
    copies = [_copies(crowd, topic) for topic in TOPICS]
    crowd.sent_at.clear()
    await crowd.publish()
    await crowd.until_quiet()
    return [
        _level(crowd, topic, _copies(crowd, topic) - before, risen)
        for topic, before in zip(TOPICS, copies, strict=True)
    ]


def _copies(crowd: Crowd, topic: str) -> int:
    return sum(each.counters.get("copies", 0) for each in crowd.members(topic))


def _level(crowd: Crowd, topic: str, copies: int, risen: Counter[tuple[EventId, str]]) -> Level:
    found = crowd.reached(topic)
    events = max(1, len(crowd.sent_at))
    useful = found.delivered - (events if topic == crowd.plan.published_on else 0)
    return Level(
        members=found.members,
        reception=found.delivered / max(1, found.owed),
        reliability=found.whole / events,
        efficiency=useful / max(1, useful + copies),
        rounds=found.rounds,
        upward=sum(risen[event, topic] for event in crowd.sent_at) / events,
    )
