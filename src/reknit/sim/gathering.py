"""One random schedule of peers: from a seed to a verdict.

The seed draws topics with their parents, peers and what they want, the network, and what goes wrong: datagrams get
lost, peers come and leave and change what they want, the network falls into parts, in every schedule; in some, peers
crash, and begin another life; in some there are brokers beside them, and gateways. Events are published all the while,
of which nobody is owed any, but nobody may get one that it does not want. Then all but the loss is healed, and after
some leases it is calm, for twenty leases: what is published now has to reach everybody as often as the formula says.
Then the checkers read the trace.

Owns: what such a schedule consists of. Must not know: what is right; that is for the checkers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from reknit.community.hierarchy import Hierarchy, filter_of
from reknit.community.io import Meet
from reknit.community.options import CourierOptions, GridOptions, PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.sim.assembly import Assembly, Runaway
from reknit.sim.beside import Beside, BesidePlan, draw_beside
from reknit.sim.checkers.parasites import check_parasites
from reknit.sim.checkers.reception import Pool, Terms, check_reception
from reknit.sim.checkers.touch import check_touch
from reknit.sim.checkers.views import MOMENTS_MIN, check_view_sizes, check_views, even_size, scamp_size
from reknit.sim.checkers.violation import Violation
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind, Record

__all__ = ["GatheringOutcome", "GatheringPlan", "draw_gathering", "run_gathering", "run_gathering_seed"]

LEASE_S = 6.0
HEARTBEAT_S = 1.2
REUNION_S = 3.0
ABSENT_S = 2.0
SETTLE_S = 3.0 * LEASE_S
"""How long it takes until tables are what they should be again: two leases, and the search for communities above."""

CALM_LEASES = MOMENTS_MIN
"""In the end; between two troubles it is calm for one lease only."""
CALM_S = 2.0
"""Of each lease; what is published then is judged."""
EVENTS_PER_LEASE = 2
EVENTS_BETWEEN = 20
MEMBERSHIPS = ("scamp", "scamp", "semi-structured", "structured")
VOUCH_TRIES = (0, 0, 0, 2)
GRID = GridOptions(lease_s=LEASE_S, refresh_s=2.4, meet_s=0.3, meet_s_max=3.0, answer_s=0.5)
STEPS_MAX = 600_000
STEPS_PER_PEER_MAX = 40_000
"""Where there are more than fifteen."""

TREES: tuple[tuple[str, ...], ...] = (
    ("a",),
    ("a", "a/d", "a/d/g"),
    ("#", "a", "a/d/g"),
    ("#", "a/d", "a/e", "x"),
)
"""Topics that peers may want; in some, levels between are empty."""


CROWDED = 1 / 12
"""The share of schedules with so many peers in so few topics that the theory of views, which is for many, can be held
against them."""
CROWD = (20, 40)
CROWD_TREES: tuple[tuple[str, ...], ...] = (("a",), ("a", "a/d"))


class GatheringPlan(msgspec.Struct, frozen=True):
    """Everything that a seed decides before the run."""

    seed: int
    peers: int
    topics: tuple[str, ...]
    parents: dict[str, tuple[str, ...]]
    several: float
    """The share of peers that want two topics."""
    network: NetworkOptions
    topic: TopicOptions
    rounds: int
    round_s: float
    churn: int
    """Peers that come, leave or change what they want, in each round, in which the network falls into two as well."""
    crashes: int
    beside: BesidePlan | None
    """Brokers, if there are any."""


@dataclass(slots=True)
class GatheringOutcome:
    plan: GatheringPlan
    violations: list[Violation]
    records: list[Record]
    published: int = 0
    delivered: int = 0
    owed: int = 0
    """In calm, by the formula."""
    received: int = 0
    """Of what was published then."""
    faults: dict[str, int] = field(default_factory=dict)
    pools: dict[int, Pool] = field(default_factory=dict)
    """The same beside what was drawn, by the size of communities."""


def draw_gathering(seed: int) -> GatheringPlan:
    rng = random.Random(f"{seed}/gathering")
    topics = rng.choice(TREES)
    crowd = _draw_crowd(seed)
    parents: dict[str, tuple[str, ...]] = {"a/d": ("a", "x")} if "x" in topics and rng.random() < 0.7 else {}
    scamp = ScampOptions(
        copies=rng.choice((1, 1, 2)), lease_s=LEASE_S, heartbeat_s=HEARTBEAT_S, walk_hops=2, reunion_s=REUNION_S
    )
    supers = SuperOptions(check_s=1.5, answer_s=0.6, search_s=0.5, search_s_max=3.0, failed_s=8.0)
    plan = GatheringPlan(
        seed=seed,
        peers=rng.randint(4, 18),
        topics=topics,
        parents=parents,
        several=rng.choice((0.0, 0.0, 0.3)),
        network=NetworkOptions(
            latency_s_max=rng.choice((0.005, 0.03)),
            loss=rng.choice((0.01, 0.05, 0.1)),
            duplication=rng.choice((0.0, 0.02)),
        ),
        topic=TopicOptions(
            c=rng.choice((2.0, 5.0)),
            g=rng.choice((3.0, 8.0)),
            a=rng.choice((1.0, 2.0)),
            membership=random.Random(f"{seed}/membership").choice(MEMBERSHIPS),
            vouch_tries=random.Random(f"{seed}/vouching").choice(VOUCH_TRIES),
            scamp=scamp,
            supers=supers,
        ),
        rounds=rng.randint(1, 2),
        round_s=rng.uniform(4.0, 10.0),
        churn=rng.randint(1, 6),
        crashes=rng.choice((0, 0, 1, 3)),
        beside=draw_beside(seed, topics),
    )
    return msgspec.structs.replace(plan, **crowd)


def _draw_crowd(seed: int) -> dict[str, Any]:
    """What is different where there are many; by chance of its own, so that other schedules stay what they were."""
    rng = random.Random(f"{seed}/crowd")
    if rng.random() >= CROWDED:
        return {}
    return {
        "peers": rng.randint(*CROWD),
        "topics": rng.choice(CROWD_TREES),
        "parents": {},
        "several": 0.0,
        "beside": None,
    }


class _Run:
    def __init__(self, plan: GatheringPlan) -> None:
        self.plan = plan
        self.rng = random.Random(f"{plan.seed}/run")
        options = PeerOptions(
            topic=plan.topic,
            parents=plan.parents,
            courier=CourierOptions(retry_s=0.15),
            grid=GRID,
            absent_s=ABSENT_S,
            observe=True,
        )
        self.beside = Beside(plan.beside, options, plan.network, str(plan.seed)) if plan.beside else None
        self.assembly = (
            self.beside.junction.assembly if self.beside else Assembly(options, plan.network, str(plan.seed))
        )
        self.assembly.steps_max = max(STEPS_MAX, STEPS_PER_PEER_MAX * plan.peers)
        self.wants: dict[str, list[str]] = {}
        self.newcomers: dict[str, list[tuple[str, int]]] = {}  # of this round, with lives of their contacts
        self.faults: dict[str, int] = {}
        self.born = 0

    def run(self) -> None:
        for _ in range(self.plan.peers):
            self._come()
            self._go_on(self.rng.uniform(0.0, 0.3))
        for left in reversed(range(self.plan.rounds)):
            self._trouble()
            self._go_on(SETTLE_S)
            if left:
                self._calm(1, EVENTS_BETWEEN)
            else:
                self._calm(CALM_LEASES, EVENTS_PER_LEASE)

    def _go_on(self, span_s: float) -> None:
        (self.beside.junction if self.beside else self.assembly).run(span_s)

    def _come(self) -> None:
        """Somebody new, who knows one peer, whatever that one wants."""
        self.born += 1
        self._begin(f"p{self.born}")

    def _begin(self, peer: str) -> None:
        known = self.assembly.alive()
        contacts = (self.rng.choice(known),) if known else ()
        self._note_newcomer(peer, contacts)
        self.assembly.start(peer, contacts)
        count = 2 if len(self.plan.topics) > 1 and self.rng.random() < self.plan.several else 1
        self.wants[peer] = self.rng.sample(self.plan.topics, count)
        for topic in self.wants[peer]:
            self.assembly.join(peer, topic)

    # --- trouble

    def _trouble(self) -> None:
        span = self.plan.round_s
        self._spread(self.plan.churn, span, self._churn)
        self._spread(self.plan.crashes, span, self._crash)
        self._spread(10, span, self._publish)
        self._spread(5, span, partial(self._publish_beside, deep=True))
        if self.beside is not None:
            self._spread(self.beside.plan.crashes, span, self._crash_beside)
        self.assembly.kernel.after(self.rng.uniform(0, span), self._part)
        self._go_on(span)
        self.assembly.network.heal()
        self._help_newcomers()

    def _note_newcomer(self, peer: str, contacts: tuple[str, ...]) -> None:
        self.newcomers[peer] = [(each, self.assembly.places[each].life) for each in contacts]

    def _help_newcomers(self) -> None:
        """Who came to one that has died since knows nobody else, perhaps: its user names another.

        It is the same one for all, lest it be one who has come through them: whoever has come leads by its contacts,
        each of which is older than itself, to that one, or to who is told of it.
        """
        alive, places = self.assembly.alive(), self.assembly.places
        for peer, contacts in self.newcomers.items():
            is_lost = not any(each in alive and places[each].life == life for each, life in contacts)
            if peer in alive[1:] and is_lost:
                self.assembly.give(peer, Meet((alive[0],)))
        self.newcomers.clear()

    def _spread(self, count: int, span: float, deed: Callable[[], None]) -> None:
        for _ in range(count):
            self.assembly.kernel.after(self.rng.uniform(0, span), deed)

    def _noted(self, fault: str) -> None:
        self.faults[fault] = self.faults.get(fault, 0) + 1

    def _churn(self) -> None:
        peer = self._someone()
        draw = self.rng.random()
        if peer is None or draw < 0.3:
            self._noted("newcomer")
            self._come()
        elif draw < 0.7 and self.wants[peer]:
            self._noted("leaver")
            self.assembly.leave(peer, self.wants[peer].pop())
        else:
            self._noted("added topic")
            topic = self.rng.choice(self.plan.topics)
            if topic not in self.wants[peer]:
                self.wants[peer].append(topic)
                self.assembly.join(peer, topic)

    def _crash(self) -> None:
        """It is back some time later, at the same address, and wants something else; or never."""
        peer = self._someone()
        if peer is None or len(self._ours()) < 3:
            return
        self._noted("crashed peer")
        self.assembly.crash(peer)
        if self.rng.random() < 0.5:
            self.assembly.kernel.after(self.rng.uniform(0.1, 3.0), self._rise, peer)

    def _rise(self, peer: str) -> None:
        if peer not in self.assembly.alive():
            self._noted("risen peer")
            self._begin(peer)

    def _crash_beside(self) -> None:
        """A gateway, and its broker: both are back some time later."""
        broker = self.beside.crash() if self.beside else None
        if broker is not None:
            self._noted("crashed gateway")
            self.assembly.kernel.after(self.rng.uniform(0.1, 3.0), self._rise_beside, broker)

    def _rise_beside(self, broker: str) -> None:
        if self.beside is not None:
            self._note_newcomer(self.beside.junction.address(broker), tuple(self.assembly.alive()[:1]))
            self.beside.rise(broker)

    def _part(self) -> None:
        peers = self.assembly.alive()
        self._noted("parted network")
        self.assembly.network.split(self.rng.sample(peers, len(peers) // 2))

    def _someone(self) -> str | None:
        """Who lives, and is no gateway."""
        peers = self._ours()
        return self.rng.choice(peers) if peers else None

    def _ours(self) -> list[str]:
        return [peer for peer in self.assembly.alive() if peer in self.wants]

    # --- events

    def _publish(self) -> None:
        """On a topic that somebody is a member for, or below it."""
        members = [peer for peer in self._ours() if self.wants[peer]]
        if members:
            peer = self.rng.choice(members)
            self.assembly.publish(peer, self._topic_of(self.rng.choice(self.wants[peer])))

    def _publish_beside(self, deep: bool = False) -> None:
        if self.beside is not None:
            self.beside.publish(self.rng, deep)

    def _topic_of(self, community: str) -> str:
        return "a" if community == "#" else community

    def _calm(self, leases: int, events: int) -> None:
        kernel = self.assembly.kernel
        for _ in range(leases):
            began = kernel.now
            self.assembly.records.append(Record(began, "", Kind.CALM))
            for _ in range(events):
                self._publish_as_member()
                self._publish_beside()
                self._go_on(0.7 * CALM_S / events)
            self._go_on(began + LEASE_S - kernel.now)

    def _publish_as_member(self) -> None:
        """Without becoming a member of anything, since that would end the calm."""
        able = [
            (peer, topic)
            for peer in self.assembly.alive()
            for topic in self.assembly.peer(peer).communities
            if topic != "#"
        ]
        if able:
            self.assembly.publish(*self.rng.choice(able))


def run_gathering(plan: GatheringPlan) -> GatheringOutcome:
    run = _Run(plan)
    problems: list[Violation] = []
    try:
        run.run()
    except Runaway as error:
        problems.append(Violation("liveness", run.assembly.kernel.now, str(error)))
    return _judged(run, problems)


def _judged(run: _Run, problems: list[Violation]) -> GatheringOutcome:
    plan, records = run.plan, run.assembly.records
    hierarchy = Hierarchy(plan.parents)

    def ladder(topic: str) -> tuple[str, ...]:
        return tuple(filter_of(each) for each in hierarchy.ladder(topic))

    def ladders(community: str) -> list[tuple[str, ...]]:
        topic = community.removesuffix("/#")
        return [tuple(filter_of(each) for each in hierarchy.ladder(parent)) for parent in hierarchy.parents(topic)]

    topic = plan.topic
    terms = Terms(topic.c, topic.g, topic.a, topic.z, 1.0 - plan.network.loss)
    size = even_size(topic.c) if topic.membership == "structured" else scamp_size(topic.scamp.copies)
    verdict = check_reception(records, ladder, terms, CALM_S)
    found = [
        *problems,
        *check_parasites(records, ladder, late_s_max=LEASE_S + 1.0),
        *check_views(records, topic.scamp.view_max, topic.z),
        *check_view_sizes(records, size),
        *check_touch(records, ladders, size),
        *verdict.violations,
        *(run.beside.judged(ladder, CALM_S) if run.beside else ()),
    ]
    published = sum(record.kind is Kind.PUBLISHED for record in records)
    delivered = sum(record.kind is Kind.DELIVERED for record in records)
    seen = run.beside.records() if run.beside else records
    owed = round(verdict.owed)
    return GatheringOutcome(plan, found, seen, published, delivered, owed, verdict.received, run.faults, verdict.pools)


def run_gathering_seed(seed: int) -> GatheringOutcome:
    return run_gathering(draw_gathering(seed))
