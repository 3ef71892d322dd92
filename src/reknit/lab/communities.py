"""One event in a chain of communities, as the simulations of CAMCAST have it: tables that are drawn once and never
change.

Time goes in rounds: each message takes one. Processes that have failed have done so before the event, and nobody's
table is the better for it (``stillborn``); or every process takes each other one for failed or not, independently of
what others think of it (``weak``), which stands for a membership that is only weakly consistent. The peers are the
real ones.

Owns: how such a chain is set up, and what is counted. Must not know: what an experiment is after.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from reknit.community.formulas import fan_out
from reknit.community.io import Deliver, Join
from reknit.community.options import CourierOptions, PeerOptions, SuperOptions, TopicOptions
from reknit.sim.assembly import Assembly
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind
from reknit.wire.peers import Contact

__all__ = ["Chain", "Spread", "broadcast", "disseminate"]

ROUND_S = 1.0
ROUNDS_MAX = 200
STILL = SuperOptions(check_s=0.0, search_s=0.0)


@dataclass(frozen=True, slots=True)
class Chain:
    """``sizes``: of the communities, the root first. The rest as in section 6.1.1 of the paper."""

    sizes: tuple[int, ...] = (10, 100, 1000)
    c: float = 5.0
    g: float = 5.0
    a: float = 1.0
    z: int = 3
    p_succ: float = 0.85
    failed: float = 0.0
    weak: bool = False
    forced: bool = False
    """Whether the publisher sends upward for certain."""
    at: int = -1
    """The level at which the event is published."""
    vouch_tries: int = 0
    """How often each of those above is asked to confirm an event, by who vouches for it; 0: nobody does."""
    forwarders: tuple[float, ...] = ()
    """By level, how many are expected to pass an event upward, where that is not ``g`` everywhere."""

    def topics(self) -> list[str]:
        return ["/".join("t" * (level + 1)) for level in range(len(self.sizes))]


@dataclass(slots=True)
class Spread:
    """What became of one event, by level. ``rounds``: when the last process got it that did."""

    members: list[int]
    """That have not failed."""
    reached: list[int]
    inside: list[int] = field(default_factory=list)
    """Messages sent from one member of the community to another."""
    upward: list[int] = field(default_factory=list)
    """Messages sent from this community to the next."""
    between: list[int] = field(default_factory=list)
    """All that was sent between this community and the next, repetitions and confirmations too."""
    forwarding: int = 0
    """Processes that have sent any of these."""
    rounds: int = 0
    parasites: int = 0
    """Messages received by processes that do not want the event."""


def disseminate(chain: Chain, seed: str) -> Spread:
    rng = random.Random(f"{seed}/tables")
    topics = chain.topics()
    options = PeerOptions(
        topics={topic: _terms(chain, chain.sizes[level], level) for level, topic in enumerate(topics)},
        parents={topics[0]: ()},
        courier=CourierOptions(retry_s=2.5 * ROUND_S),
        observe=True,
    )
    crowd = _Crowd(options, chain, seed)
    names = [[f"{level}.{number}" for number in range(size)] for level, size in enumerate(chain.sizes)]
    for level, members in enumerate(names):
        above = names[level - 1] if level else []
        for name in crowd.living(members, rng):
            size = fan_out(chain.sizes[level], chain.c)
            table = _others(members, name, size, rng)
            supers = tuple((topics[level - 1], peer) for peer in rng.sample(above, min(chain.z, len(above))))
            crowd.add(name, level, topics[level], table, supers)
    crowd.publish(topics[chain.at], rng)
    return crowd.spread()


def broadcast(chain: Chain, seed: str) -> Spread:
    """Plain gossip among all processes, whatever they want; levels as if they were there, for who wants the event."""
    rng = random.Random(f"{seed}/tables")
    total = sum(chain.sizes)
    crowd = _Crowd(PeerOptions(topic=_terms(chain, total), parents={"all": ()}, observe=True), chain, seed)
    names = [f"{level}.{number}" for level, size in enumerate(chain.sizes) for number in range(size)]
    for name in crowd.living(names, rng):
        crowd.add(name, int(name.partition(".")[0]), "all", _others(names, name, fan_out(total, chain.c), rng), ())
    crowd.publish("all", rng)
    return crowd.spread()


def _terms(chain: Chain, population: int, level: int = 0) -> TopicOptions:
    return TopicOptions(
        c=chain.c,
        g=chain.forwarders[level] if chain.forwarders else chain.g,
        a=chain.a,
        z=chain.z,
        membership="static",
        population=population,
        publisher_forces_upward=chain.forced,
        vouch_tries=chain.vouch_tries,
        supers=STILL,
    )


def _others(members: list[str], name: str, size: int, rng: random.Random) -> tuple[str, ...]:
    """By chance; one more is drawn, as one may be oneself."""
    drawn = rng.sample(members, min(size + 1, len(members)))
    return tuple(each for each in drawn if each != name)[:size]


class _Crowd:
    """Peers in rounds, and what they did."""

    def __init__(self, options: PeerOptions, chain: Chain, seed: str) -> None:
        self.chain = chain
        network = NetworkOptions(latency_s_min=ROUND_S, latency_s_max=ROUND_S, loss=1.0 - chain.p_succ)
        self.assembly = Assembly(options, network, seed)
        self.assembly.delivered = self._delivered
        self.levels: dict[str, int] = {}
        self.topics: dict[str, str] = {}
        self.got: dict[str, int] = {}
        self.parasites = 0
        self._blind: dict[tuple[str, str], bool] = {}
        self._rng = random.Random(f"{seed}/sight")
        self._give = self.assembly.network.give
        self.assembly.network.give = self._arrive
        self._send = self.assembly.network.send
        self.assembly.network.send = self._sent  # type: ignore[method-assign]
        self.between = [0] * len(chain.sizes)

    def living(self, members: list[str], rng: random.Random) -> Iterable[str]:
        if self.chain.weak or not self.chain.failed:
            return members
        dead = set(rng.sample(members, round(self.chain.failed * len(members))))
        return [each for each in members if each not in dead]

    def add(self, name: str, level: int, topic: str, table: tuple[str, ...], supers: tuple[Contact, ...]) -> None:
        self.levels[name], self.topics[name] = level, topic
        self.assembly.start(name)
        self.assembly.give(name, Join(topic, contacts=table, supers=supers))

    def publish(self, topic: str, rng: random.Random) -> None:
        """By one of those of the level where it is published who live."""
        at = range(len(self.chain.sizes))[self.chain.at]
        able = [name for name, level in self.levels.items() if level == at]
        if able:
            self.assembly.publish(rng.choice(able), topic)
            self.assembly.run(ROUNDS_MAX * ROUND_S)

    def spread(self) -> Spread:
        count = len(self.chain.sizes)
        spread = Spread([0] * count, [0] * count, [0] * count, [0] * count)
        for name, level in self.levels.items():
            spread.members[level] += 1
            spread.reached[level] += name in self.got
        forwarding: dict[str, None] = {}
        for record in self.assembly.records:
            if record.kind is Kind.FORWARDED:
                same = record.detail == self.topics[record.node]
                (spread.inside if same else spread.upward)[self.levels[record.node]] += 1
                forwarding.update({} if same else {record.node: None})
        spread.forwarding = len(forwarding)
        spread.rounds = max(self.got.values(), default=0)
        spread.parasites = self.parasites
        spread.between = self.between
        return spread

    def _delivered(self, name: str, deliver: Deliver) -> None:
        self.got[name] = deliver.hops

    def _sent(self, sender: str, to: str, frame: bytes) -> None:
        """Names say the level, of the dead as well."""
        lower, upper = (int(each.partition(".")[0]) for each in sorted((sender, to), reverse=True))
        if lower != upper:
            self.between[lower] += 1
        self._send(sender, to, frame)

    def _arrive(self, address: str, sender: str, frame: bytes) -> None:
        if self.chain.weak and self._takes_for_failed(sender, address):
            return
        wanted = range(len(self.chain.sizes))[self.chain.at]
        if self.levels.get(address, 0) > wanted:
            self.parasites += 1
        self._give(address, sender, frame)

    def _takes_for_failed(self, sender: str, address: str) -> bool:
        pair = (sender, address)
        if pair not in self._blind:
            self._blind[pair] = self._rng.random() < self.chain.failed
        return self._blind[pair]
