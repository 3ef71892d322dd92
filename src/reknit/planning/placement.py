"""Placement by interest: Algorithm 1 of DYNATOPS. A user is sent to the broker that shares its topics, and has room.

The utility of a broker for a user is ``Sim - w_l * L``. ``Sim`` is the part of the user's topics that the broker has
subscribed to anyway; other measures are strategies beside it. ``L`` is the broker's part of all users' subscriptions in
its cluster, since nobody knows more. Brokers of a cluster tell each other what they have every ``T_update`` only: a
broker knows itself as it is, and the others as they were (``exchange``).

The utility is that of live brokers (``model.similarity``). These leave the client's own subscriptions out of ``L``,
want a least gain, and let nobody go again too soon; here it is all as the paper has it, unless ``own_topics`` is false:
then what a user has brought itself is no load either, for it takes that along. Otherwise whoever is alone with its
topics would flee from its own load, to any broker that has none.

Owns: who is where. Must not know: how a user is told, or when clusters exchange what they know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reknit.model.similarity import SIMILARITIES, utility
from reknit.planning.notification import Bools, Floats
from reknit.planning.ring import Ints

__all__ = ["SIMILARITIES", "Placement", "PlacementOptions", "by_location", "clusters", "static"]


@dataclass(frozen=True, slots=True)
class PlacementOptions:
    load_weight: float = 5.0
    """w_l. The paper gives no value but 0."""
    similarity: str = "overlap"
    own_topics: bool = True
    """Whether a broker's topics count that only this very user has brought: then it rather stays where it is. If not,
    its subscriptions are no load of its broker either."""
    gain_min: float = 0.0
    """Who is somewhere goes elsewhere only where it is better off by more than this; the paper has no such bound."""

    def __post_init__(self) -> None:
        if self.similarity not in SIMILARITIES:
            raise ValueError(f"similarity {self.similarity!r}: it is one of {', '.join(SIMILARITIES)}")
        if not 0 <= self.load_weight < np.inf:
            raise ValueError(f"the weight of load is a number from 0 on, not {self.load_weight}")


def clusters(brokers: int, size: int) -> Ints:
    """By broker, its cluster: so many neighbours in the given order are together."""
    if size < 1:
        raise ValueError(f"a cluster has at least one broker, not {size}")
    return (np.arange(brokers) // size).astype(np.int32)


class Placement:
    def __init__(
        self, brokers: int, topics: int, cluster_of: Ints | None = None, options: PlacementOptions | None = None
    ) -> None:
        self.options = options or PlacementOptions()
        self.cluster_of = np.zeros(brokers, dtype=np.int32) if cluster_of is None else cluster_of
        self.members = [np.flatnonzero(self.cluster_of == each) for each in range(int(self.cluster_of.max()) + 1)]
        self.counts = np.zeros((topics, brokers), dtype=np.int32)  # users of the broker that want the topic
        self.sizes = np.zeros(brokers, dtype=np.int32)  # topics that a broker wants
        self.loads = np.zeros(brokers, dtype=np.float64)  # subscriptions of a broker's users
        self.home: dict[int, int] = {}  # by user
        self.topics: dict[int, tuple[int, ...]] = {}
        self.changes = 0  # topics that brokers have come or ceased to want
        self.changed = np.zeros((topics, brokers), dtype=np.int32)  # the same, one by one
        self.handovers = 0
        self._similarity = SIMILARITIES[self.options.similarity]
        self.exchange()

    def exchange(self) -> None:
        """T_update is over: all brokers of each cluster know again what the others have."""
        self._told = self.counts > 0
        self._told_sizes = self.sizes.copy()
        self._told_loads = self.loads.copy()

    @property
    def wants(self) -> Bools:
        """By topic and broker, whether one of its users wants the topic."""
        return self.counts > 0

    def utilities(self, user: int, topics: Sequence[int], asked: int) -> tuple[Ints, Floats]:
        """The brokers that ``asked`` knows, and what each would be worth to the user, as far as ``asked`` can tell."""
        visible = self.members[self.cluster_of[asked]]
        own = int(visible.searchsorted(asked))
        rows = list(topics)
        common = self._told[rows].sum(axis=0, dtype=np.int32)[visible]
        sizes, loads = self._told_sizes[visible], self._told_loads[visible]
        common[own] = sum(self._counts_here(user, topic, asked) for topic in rows)
        sizes[own], loads[own] = self.sizes[asked], self.loads[asked] - self._taken_along(user, asked)
        alike = self._similarity(common, len(rows), sizes)
        return visible, utility(alike, loads, float(loads.sum()), self.options.load_weight)

    def _counts_here(self, user: int, topic: int, asked: int) -> bool:
        count = int(self.counts[topic, asked])
        mine = self.home.get(user) == asked and topic in self.topics[user]
        return count > (mine and not self.options.own_topics)

    def _taken_along(self, user: int, asked: int) -> int:
        """Of the load of the broker that is asked, what would leave with the user."""
        here = self.home.get(user) == asked and not self.options.own_topics
        return len(self.topics[user]) if here else 0

    def join(self, user: int, topics: Sequence[int], asked: int) -> int:
        """A user asks a broker where to be, with all its topics: at first, and whenever they change."""
        if len(set(topics)) != len(topics) or (len(topics) and not 0 <= min(topics) <= max(topics) < len(self.counts)):
            raise ValueError(f"user {user}: topics are different numbers from 0 to {len(self.counts) - 1}")
        visible, worth = self.utilities(user, topics, asked)
        best = int(visible[int(np.argmax(worth))])
        here = worth[np.searchsorted(visible, asked)]
        if self.home.get(user) == asked and worth.max() <= here + self.options.gain_min:
            best = asked  # of equal ones, where it is
        self.place(user, topics, best)
        return best

    def place(self, user: int, topics: Sequence[int], broker: int) -> None:
        """The user is at this broker from now on, whoever has said so."""
        before, had = self.home.get(user), self.topics.get(user, ())
        if before is not None and before != broker:
            self.handovers += 1
        for topic in (each for each in topics if before != broker or each not in had):
            self._count(topic, broker, 1)
        for topic in (each for each in had if before != broker or each not in topics):
            self._count(topic, self.home[user], -1)
        if before is not None:
            self.loads[before] -= len(had)
        self.loads[broker] += len(topics)
        self.home[user], self.topics[user] = broker, tuple(topics)

    def _count(self, topic: int, broker: int, step: int) -> None:
        count = self.counts[topic, broker] = self.counts[topic, broker] + step
        if count == max(step, 0):  # the first one has come, or the last one gone
            self.changes += 1
            self.changed[topic, broker] += 1
            self.sizes[broker] += step


def static(users: int, brokers: int, rng: np.random.Generator) -> Ints:
    """By user: a broker drawn at random, for good. What placement is compared with."""
    return rng.integers(brokers, size=users).astype(np.int32)


def by_location(users: npt.NDArray[np.float64], brokers: npt.NDArray[np.float64]) -> Ints:
    """By user: the nearest broker. Rows are places, of any number of coordinates."""
    apart = ((users[:, None, :] - brokers[None, :, :]) ** 2).sum(axis=2)
    nearest: Ints = apart.argmin(axis=1).astype(np.int32)
    return nearest
