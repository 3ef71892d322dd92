"""What the brokers of a cluster know of each other: what their clients want, and how many subscriptions they have.

Every ``update_s`` (DYNATOPS's T_update) each says so on the way to a key that its cluster has on the ring. Whoever owns
that key passes it on to all others of the cluster from whom it has heard lately. So nobody has to be told who belongs
to a cluster, and when the owner dies another broker owns the key. In between a broker knows itself as it is, and the
others as they were, and where it has sent clients since.

The utility of a broker for a client is ``Sim - w_l * L`` (section 4): how alike they are, and the broker's part of all
subscriptions in the cluster, since nobody knows more. Those of the client itself are left out: it takes them along, and
one that is alone somewhere would go about for nothing else.

Owns: what was said, and utilities. Must not know: clients, or how one moves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from msgspec.structs import replace

from reknit.core.placement.options import PlacementOptions
from reknit.core.ring.station import Station
from reknit.core.turn import Turn
from reknit.model.ring import ring_id
from reknit.model.similarity import SIMILARITIES, utility
from reknit.wire.placement import INTEREST_TOPICS_MAX, Interest

__all__ = ["Choice", "Interests", "cluster_key", "cluster_of"]

FRESH_UPDATES = 3
"""A broker that has said nothing for as many times its own ``update_s`` is not reckoned with."""

CLUSTER_BROKERS_MAX = 1024
"""Brokers of one cluster."""

CLUSTERS_MAX = 1024
"""Clusters that one broker keeps together."""


def cluster_of(name: str, options: PlacementOptions) -> str:
    return options.cluster or str(ring_id(name) % options.clusters)


def cluster_key(cluster: str) -> int:
    return ring_id(f"$ring/cluster/{cluster}")


@dataclass(slots=True)
class _Heard:
    interest: Interest
    topics: dict[str, None]
    load: int
    until: float


@dataclass(frozen=True, slots=True)
class Choice:
    """The best broker for a client, and by how much it is better than where the client is."""

    interest: Interest
    gain: float


class Interests:
    def __init__(
        self,
        turn: Turn,
        station: Station,
        options: PlacementOptions,
        wanted: Callable[[], tuple[list[str], int]],
    ) -> None:
        """``wanted``: the topics that clients here want, and how many subscriptions they have."""
        self.turn, self.station, self.options, self.wanted = turn, station, options, wanted
        self.cluster = cluster_of(turn.node, options)
        self._of: dict[str, _Heard] = {}  # by broker: others of this one's cluster
        self._kept: dict[str, dict[str, _Heard]] = {}  # by cluster and broker: whom this one keeps together
        self.dropped = 0  # words for which there was no room: of other brokers, or of this one's own topics
        self._tell_at = 0.0
        self._similarity = SIMILARITIES[options.similarity]

    # --- words

    def receive(self, interest: Interest) -> None:
        if interest.told:
            if interest.cluster == self.cluster and interest.of[1] != self.turn.node:
                self._hear(self._of, interest)
        elif self.station.joined:
            self._pass_on(interest)

    def _pass_on(self, interest: Interest) -> None:
        member, key = self.station.plane.member, cluster_key(interest.cluster)
        if member.owns(key):
            self._keep(interest)
        elif interest.hops < self.station.options.hops_max and (spot := member.chord.way_to(key)) is not None:
            self.station.peers.say(spot[1], spot[2], replace(interest, hops=interest.hops + 1))

    def _keep(self, interest: Interest) -> None:
        if (kept := self._kept.get(interest.cluster)) is None:
            self._drop_old_clusters()
            if len(self._kept) >= CLUSTERS_MAX:
                self.dropped += 1
                return
            kept = self._kept[interest.cluster] = {}
        self._hear(kept, interest)
        told = replace(interest, told=True, hops=0)
        for name, heard in kept.items():
            if name == self.turn.node:
                self.receive(told)
            elif name != interest.of[1]:
                self.station.peers.say(name, heard.interest.of[2], told)

    def _drop_old_clusters(self) -> None:
        for cluster, kept in list(self._kept.items()):
            self._drop_stale(kept)
            if not kept:
                del self._kept[cluster]

    def _hear(self, known: dict[str, _Heard], interest: Interest) -> None:
        if interest.of[1] in known or len(known) < CLUSTER_BROKERS_MAX:
            topics = dict.fromkeys(interest.topics)
            known[interest.of[1]] = _Heard(interest, topics, interest.load, self.turn.now + interest.fresh_s)
        else:
            self.dropped += 1
        self._drop_stale(known)

    def _drop_stale(self, known: dict[str, _Heard]) -> None:
        for name in [name for name, heard in known.items() if heard.until < self.turn.now]:
            del known[name]

    def lost(self, peer: str) -> None:
        self._of.pop(peer, None)
        for kept in self._kept.values():
            kept.pop(peer, None)

    # --- utilities

    def mine(self) -> tuple[int, int]:
        """How many topics clients here want, and how many subscriptions they have."""
        topics, load = self.wanted()
        return len(topics), load

    def best_for(
        self, topics: Collection[str], here: int, subscriptions: int, mine: tuple[int, int] | None = None
    ) -> Choice | None:
        """``here``: of the client's topics, how many count for this broker. None if nobody else is known.

        Its own ``subscriptions`` are no load: it takes them along. ``mine``: as it was found for many clients at once.
        """
        others = [heard for heard in self._of.values() if heard.until >= self.turn.now]
        if not others:
            return None
        size, load = mine or self.mine()
        load = max(load - subscriptions, 0)
        loads = load + sum(heard.load for heard in others)
        own = self._worth(here, len(topics), size, load, loads)
        found = [(self._worth_of(heard, topics, loads), heard.interest) for heard in others]
        worth, interest = max(found, key=lambda each: (each[0], each[1].of[1]))
        return Choice(interest, worth - own)

    def _worth_of(self, heard: _Heard, topics: Collection[str], loads: int) -> float:
        common = sum(topic in heard.topics for topic in topics)
        return self._worth(common, len(topics), len(heard.topics), heard.load, loads)

    def _worth(self, common: int, user: int, broker: int, load: int, loads: int) -> float:
        worth: float = utility(self._similarity(common, user, broker), load, loads, self.options.load_weight)
        return worth

    def sent(self, peer: str, topics: Collection[str], subscriptions: int) -> None:
        """A client goes there: until that broker says so itself, it is known here."""
        if (heard := self._of.get(peer)) is not None:
            heard.topics.update(dict.fromkeys(topics))
            heard.load += subscriptions

    # --- times

    def deadline(self) -> float | None:
        return self._tell_at if self.options.update_s else None

    def due(self) -> None:
        if not self.options.update_s or self.turn.now < self._tell_at:
            return
        self._tell_at = self.turn.now + self.options.update_s
        topics, load = self.wanted()
        if len(topics) > INTEREST_TOPICS_MAX:
            self.dropped += 1
        elif self.station.joined:
            fresh_s = FRESH_UPDATES * self.options.update_s
            self.receive(Interest(self.cluster, self.station.me, topics, load, fresh_s))

    # --- looking in

    def shown(self) -> dict[str, dict[str, int]]:
        """By broker of the cluster that is known, how much its clients want."""
        known = sorted(self._of.items())
        return {name: {"topics": len(heard.topics), "subscriptions": heard.load} for name, heard in known}
