"""One run with loss: brokers publish, links lose events or are replaced, and one algorithm brings events back.

The brokers are the real ones, in the simulator. The setting is that of EPIDEMIC's evaluation, as far as it is known:
random trees, patterns of one character each, events that match a few of them, and a buffer of so many events. What was
delivered, and when, is read from the trace; what was said, from the figures that each broker shows its operator.

Owns: how a setting is run and counted. Must not know: figures, claims.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from reknit.core.broker import BrokerOptions
from reknit.core.links.options import LinkOptions
from reknit.core.overlay.change import make_change
from reknit.core.overlay.options import ChangeOptions
from reknit.core.overlay.shapes import DEGREE_MAX, Edge, adjacency, find_path, names, shape_edges
from reknit.core.recovery.options import RecoveryName, RecoveryOptions
from reknit.core.recovery.policies import PolicyName
from reknit.lab.scenarios import NotSettled
from reknit.lab.worlds import event_of, pattern_of
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind, Record

__all__ = ["ALGORITHMS", "FIXED", "Counted", "Setting", "run_setting"]

FIXED: tuple[RecoveryName, ...] = ("push", "subscriber-pull", "publisher-pull", "combined", "random-pull")
ALGORITHMS: tuple[RecoveryName, ...] = ("none", *FIXED, "auto")
CACHES: dict[str, PolicyName] = {"publisher-pull": "en-route", "combined": "en-route"}
"""The others keep what is published or wanted where they are."""
LATENCY_S = 0.002
REPLACED_AFTER_S = 0.1
DEFER_S = 0.3
"""Routes over a link that is gone stay for longer than it takes to have another."""
SETTLE_S_MAX = 120.0
IN_TIME_S = 5.0
"""An event that comes later does not count as one that was delivered in time."""


class Setting(msgspec.Struct, frozen=True):
    """The defaults are those of the reference, section 2.2."""

    algorithm: RecoveryName
    brokers: int = 100
    loss: float = 0.1
    gossip_s: float = 0.03
    buffer: int = 1500
    patterns: int = 70
    subscriptions: int = 2
    """Of each broker."""
    matched: int = 3
    """Patterns that an event matches, at most."""
    publish_per_s: float = 5.0
    """Of each broker."""
    span_s: float = 25.0
    drain_s: float = 3.0
    """After the last event, for what is still being recovered."""
    forward: float = 0.9
    """The chance that gossip is passed on."""
    cache: PolicyName | None = None
    """What a broker keeps, where it is not what the algorithm needs."""
    replaced_every_s: float = 0.0
    """A link is replaced so often; 0 for never."""


@dataclass(slots=True)
class Counted:
    owed: int = 0
    delivered: int = 0
    recovered: int = 0
    in_time: int = 0
    """Delivered within so many seconds as the issue has."""
    late_s: float = 0.0
    """From publication to delivery, of those recovered, in sum."""
    events: int = 0
    """Messages that carried one along the tree."""
    gossip: int = 0
    """Messages along the tree and past it, to ask and to answer."""
    heartbeats: int = 0
    broker_s: float = 0.0
    """Brokers, by the seconds in which they publish."""

    def row(self) -> dict[str, float | int]:
        return {
            "owed": self.owed,
            "delivered": self.delivered / self.owed,
            "in_time": self.in_time / self.owed,
            "messages": self.gossip / self.recovered if self.recovered else 0.0,
            "recovered": self.recovered,
            "latency_s": self.late_s / self.recovered if self.recovered else 0.0,
            "overhead": self.gossip / self.events,
            "heartbeats": self.heartbeats / self.events,
            "per_broker_s": (self.gossip + self.heartbeats) / self.broker_s,
        }


def run_setting(setting: Setting, seed: str) -> Counted:
    rng = random.Random(f"{seed}/world")
    members = names(setting.brokers)
    edges = shape_edges("random", members, rng)
    wants = {name: rng.sample(range(setting.patterns), setting.subscriptions) for name in members}
    cluster = Cluster(edges, _options(setting), _network(setting), seed)
    cluster.start_all()
    for name, characters in wants.items():
        cluster.attach(name, f"at {name}", [pattern_of(each) for each in characters])
    _settle(cluster)
    began, before = cluster.kernel.now, len(cluster.records)
    cluster.network.loss = setting.loss
    published = list(_publications(setting, members, random.Random(f"{seed}/events")))
    for at, broker, bits in published:
        cluster.kernel.at(began + at, cluster.publish, broker, "writer", event_of(bits))
    if setting.replaced_every_s:
        _replace_links(cluster, edges, setting, began, random.Random(f"{seed}/links"))
    cluster.kernel.run(until=began + setting.span_s + setting.drain_s)
    counted = _count(cluster, cluster.records[before:], wants, [bits for _, _, bits in published])
    counted.broker_s = setting.brokers * setting.span_s
    return counted


def _options(setting: Setting) -> BrokerOptions:
    """The algorithms as the paper has them: one pattern a round, asked for in each, and no last resort.

    ``auto`` is as everybody gets it, but for the buffer.
    """
    own_way = RecoveryOptions(algorithm="auto", cache_events_max=setting.buffer)
    recovery = (
        own_way
        if setting.algorithm == "auto"
        else RecoveryOptions(
            algorithm=setting.algorithm,
            gossip_s=setting.gossip_s,
            patterns_per_round=1,
            again_s=setting.gossip_s,
            again_growth=1.0,
            last_resort_s=0.0,
            direct_after=0,
            forward=setting.forward,
            cache=setting.cache or CACHES.get(setting.algorithm, "own"),
            cache_events_max=setting.buffer,
        )
    )
    lossy = not setting.replaced_every_s
    links = LinkOptions(loose=lossy, retransmit_s=0.05 if lossy else 0.0)
    changes = ChangeOptions(defer_s=DEFER_S)
    return BrokerOptions(observe=True, founded=True, links=links, changes=changes, recovery=recovery)


def _network(setting: Setting) -> NetworkOptions:
    return NetworkOptions(
        latency_s_min=LATENCY_S / 2, latency_s_max=LATENCY_S, datagrams=not setting.replaced_every_s, loss=0.0
    )


def _settle(cluster: Cluster) -> None:
    if not cluster.settle(SETTLE_S_MAX):
        raise NotSettled(cluster.restlessness())


def _publications(setting: Setting, members: list[str], rng: random.Random) -> Iterator[tuple[float, str, int]]:
    """When, where and what: an event matches one to so many patterns."""
    at = 0.0
    while (at := at + rng.expovariate(setting.publish_per_s * len(members))) < setting.span_s:
        characters = rng.sample(range(setting.patterns), min(setting.patterns, rng.randint(1, setting.matched)))
        yield at, rng.choice(members), sum(1 << each for each in characters)


def _replace_links(cluster: Cluster, edges: list[Edge], setting: Setting, began: float, rng: random.Random) -> None:
    """One after the other, each by another that keeps the tree whole; a new one is not there at once."""
    since = dict.fromkeys(edges, 0.0)
    for number in range(int(setting.span_s / setting.replaced_every_s)):
        at = (number + 1) * setting.replaced_every_s
        old = rng.choice([edge for edge, known in since.items() if known <= at])
        rest = [edge for edge in since if edge != old]
        new = _instead(rest, old, rng)
        if new is None:
            continue
        one, other = new
        head, tail = find_path(rest, old[0], one) or [one], find_path(rest, other, old[1]) or [other]
        change = make_change(f"r{number}", "deferred", head, tail)
        cluster.kernel.at(began + at, cluster.vanish, change)
        cluster.kernel.at(began + at + REPLACED_AFTER_S, cluster.appear, change)
        del since[old]
        since[new] = at + REPLACED_AFTER_S


def _instead(rest: list[Edge], old: Edge, rng: random.Random) -> Edge | None:
    """A link between the two parts, of brokers that have not too many."""
    adjacent = adjacency([*rest, old])
    side = [old[0]]
    for name in side:
        side += [each for each in adjacent[name] if each not in side and {name, each} != set(old)]
    near = [name for name in side if len(adjacent[name]) < DEGREE_MAX or name in old]
    far = [name for name in adjacent if name not in side and (len(adjacent[name]) < DEGREE_MAX or name in old)]
    pairs = [(one, other) for one in near for other in far if (one, other) != old and (one, other) != old[::-1]]
    return rng.choice(pairs) if pairs else None


def _count(cluster: Cluster, records: list[Record], wants: dict[str, list[int]], published: list[int]) -> Counted:
    counted = Counted()
    interests = [sum(1 << each for each in characters) for characters in wants.values()]
    counted.owed = sum(1 for bits in published for interest in interests if bits & interest)
    born = {record.event.id: record.time for record in records if record.kind is Kind.PUBLISHED and record.event}
    back: dict[tuple[str, tuple[str, int]], None] = {}
    for record in records:
        if record.event is None:
            continue
        if record.kind is Kind.FORWARDED:
            counted.events += 1
        elif record.kind is Kind.RECOVERED:
            back[record.node, record.event.id] = None
        elif record.kind is Kind.DELIVERED:
            counted.delivered += 1
            counted.in_time += record.time - born[record.event.id] <= IN_TIME_S
            if (record.node, record.event.id) in back:
                counted.recovered += 1
                counted.late_s += record.time - born[record.event.id]
    for node in cluster.nodes.values():
        shown = node.broker.table().get("recovery", {}) if node.broker is not None else {}
        counted.gossip += sum(shown.get(name, 0) for name in ("gossip", "requests", "repairs"))
        counted.heartbeats += shown.get("heartbeats", 0)
    return counted
