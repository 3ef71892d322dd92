"""Brokers beside a gathering of peers: a few in a line, some of them gateways, and a client at each.

Owns: which brokers there are, what their clients want and publish, by whom events cross. Must not know: peers but for
those of the gateways, or what is right.
"""

from __future__ import annotations

import random
from itertools import pairwise

import msgspec

from reknit.community.hierarchy import Hierarchy, filter_of
from reknit.community.options import PeerOptions
from reknit.core.broker import BrokerOptions
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.crossing import check_crossing
from reknit.sim.checkers.parasites import Above
from reknit.sim.checkers.violation import Violation
from reknit.sim.junction import Junction
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Record

__all__ = ["Beside", "BesidePlan", "draw_beside"]

SHARE = 0.25
"""Of the gatherings that have brokers beside them."""


DEEP_SHARE = 0.3
"""Of what clients publish in trouble, the share that is of a topic below a gateway's."""
SUBTOPICS = ("s", "t")


class BesidePlan(msgspec.Struct, frozen=True):
    gateways: dict[str, tuple[str, ...]]
    """By broker, of which topics it is a member; nothing for one that is no gateway."""
    wishes: dict[str, str]
    """By broker, the topic filter of its client."""
    crashes: int = 0
    """Gateways that crash in each round, and are back before it is calm."""


def draw_beside(seed: int, topics: tuple[str, ...]) -> BesidePlan | None:
    """By chance of its own, so that what else a seed draws does not depend on it."""
    rng = random.Random(f"{seed}/beside")
    if rng.random() >= SHARE:
        return None
    names = [f"b{number}" for number in range(1, rng.randint(2, 3) + 1)]
    members = {name: tuple(rng.sample(topics, rng.randint(1, min(2, len(topics))))) for name in names}
    if len(names) > 2 and rng.random() < 0.5:
        members[names[1]] = ()
    return BesidePlan(members, {name: filter_of(rng.choice(topics)) for name in names}, rng.choice((0, 1, 2)))


class Beside:
    """``junction.assembly`` is where the peers are."""

    def __init__(self, plan: BesidePlan, options: PeerOptions, network: NetworkOptions, seed: str) -> None:
        self.plan = plan
        self.hierarchy = Hierarchy(options.parents)
        self._rng = random.Random(f"{seed}/gateways")
        names = list(plan.wishes)
        self.junction = Junction(
            list(pairwise(names)),
            {name: topics for name, topics in plan.gateways.items() if topics},
            BrokerOptions(observe=True),
            options,
            NetworkOptions(),
            seed,
            between=network,
        )
        for name, wish in plan.wishes.items():
            self.junction.cluster.attach(name, self._client(name), [Pattern(wish)])

    @staticmethod
    def _client(broker: str) -> str:
        return f"client of {broker}"

    def publish(self, rng: random.Random, deep: bool = False) -> None:
        """A client does, on a topic of a gateway's, so that no gateway has to become a member of anything.

        ``deep``: or below it, so that one has to become one that only publishes.
        """
        topics = list(dict.fromkeys(topic for each in self.plan.gateways.values() for topic in each if topic != "#"))
        if topics:
            broker = rng.choice(list(self.plan.wishes))
            topic = rng.choice(topics)
            if deep and self._rng.random() < DEEP_SHARE:
                topic += f"/{self._rng.choice(SUBTOPICS)}"
            if self.junction.cluster.is_alive(broker):
                self.junction.cluster.publish(broker, self._client(broker), Event(topic))

    # --- lives

    def crash(self) -> str | None:
        """A broker that is a gateway, and lives; which one."""
        able = list(self.junction.gateways)
        if not able:
            return None
        name = self._rng.choice(able)
        self.junction.crash(name)
        return name

    def rise(self, name: str) -> None:
        """It begins another life, and so does its client, which wants the same."""
        self.junction.cluster.start(name)
        self.junction.cluster.attach(name, self._client(name), [Pattern(self.plan.wishes[name])])
        self.junction.open(name)

    # --- the verdict

    def passes(self, topic: str) -> str:
        """The peer of the gateway that passes events of this topic on to brokers."""
        ladder = self.hierarchy.ladder(topic)
        able = [name for name, topics in self.plan.gateways.items() if any(each in ladder for each in topics)]
        return self.junction.address(min(able)) if able else ""

    def judged(self, above: Above, calm_s: float) -> list[Violation]:
        return check_crossing(self.records(), above=above, passes=self.passes, calm_s=calm_s)

    def records(self) -> list[Record]:
        return self.junction.records()
