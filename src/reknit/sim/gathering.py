"""One random schedule of peers: from a seed to a verdict.

The seed draws topics with their parents, peers and what they want, the network, and what goes wrong: peers come,
leave, crash and begin another life, the network falls into parts; events are published all the while, of which nobody
is owed any, but nobody may get one that it does not want. Then all is healed, and after some leases it is calm: what
is published now has to reach everybody as often as the formula says. Then the checkers read the trace.

Owns: what such a schedule consists of. Must not know: what is right; that is for the checkers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from reknit.community.hierarchy import Hierarchy, filter_of
from reknit.community.options import CourierOptions, GridOptions, PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.sim.assembly import Assembly, Runaway
from reknit.sim.checkers.parasites import check_parasites
from reknit.sim.checkers.reception import Terms, check_reception
from reknit.sim.checkers.views import check_view_sizes, check_views, even_size, scamp_size
from reknit.sim.checkers.violation import Violation
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind, Record

__all__ = ["GatheringOutcome", "GatheringPlan", "draw_gathering", "run_gathering", "run_gathering_seed"]

LEASE_S = 16.0
HEARTBEAT_S = 1.5
REUNION_S = 4.0
SETTLE_S = 2.5 * LEASE_S
"""How long it takes until tables are what they should be again: two leases, and the search for communities above."""

CALM_S = 6.0
MEMBERSHIPS = ("scamp", "scamp", "semi-structured", "structured")
GRID = GridOptions(lease_s=LEASE_S, refresh_s=3.0, meet_s=0.3, meet_s_max=3.0, answer_s=0.5)
STEPS_MAX = 400_000

TREES: tuple[tuple[str, ...], ...] = (
    ("a",),
    ("a", "a/d", "a/d/g"),
    ("#", "a", "a/d/g"),
    ("#", "a/d", "a/e", "x"),
)
"""Topics that peers may want; in some, levels between are empty."""


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
    """Peers that come, leave or change what they want, in each round."""
    crashes: int
    parts: bool
    """Whether the network falls into two, for a while, in each round."""
    calm_events: int


@dataclass(slots=True)
class GatheringOutcome:
    plan: GatheringPlan
    violations: list[Violation]
    records: list[Record]
    published: int = 0
    delivered: int = 0
    owed: int = 0
    faults: dict[str, int] = field(default_factory=dict)


def draw_gathering(seed: int) -> GatheringPlan:
    rng = random.Random(f"{seed}/gathering")
    topics = rng.choice(TREES)
    parents: dict[str, tuple[str, ...]] = {"a/d": ("a", "x")} if "x" in topics and rng.random() < 0.7 else {}
    scamp = ScampOptions(
        copies=rng.choice((1, 1, 2)), lease_s=LEASE_S, heartbeat_s=HEARTBEAT_S, walk_hops=2, reunion_s=REUNION_S
    )
    supers = SuperOptions(check_s=2.0, answer_s=0.6, search_s=0.5, search_s_max=4.0, failed_s=20.0)
    return GatheringPlan(
        seed=seed,
        peers=rng.randint(4, 18),
        topics=topics,
        parents=parents,
        several=rng.choice((0.0, 0.0, 0.3)),
        network=NetworkOptions(
            latency_s_max=rng.choice((0.005, 0.03)),
            loss=rng.choice((0.0, 0.02, 0.1)),
            duplication=rng.choice((0.0, 0.02)),
        ),
        topic=TopicOptions(
            c=rng.choice((2.0, 5.0)),
            g=rng.choice((3.0, 8.0)),
            a=rng.choice((1.0, 2.0)),
            membership=random.Random(f"{seed}/membership").choice(MEMBERSHIPS),
            scamp=scamp,
            supers=supers,
        ),
        rounds=rng.randint(1, 2),
        round_s=rng.uniform(4.0, 10.0),
        churn=rng.randint(0, 6),
        crashes=rng.choice((0, 0, 1, 3)),
        parts=rng.random() < 0.3,
        calm_events=40,
    )


class _Run:
    def __init__(self, plan: GatheringPlan) -> None:
        self.plan = plan
        self.rng = random.Random(f"{plan.seed}/run")
        options = PeerOptions(
            topic=plan.topic, parents=plan.parents, courier=CourierOptions(retry_s=0.15), grid=GRID, observe=True
        )
        self.assembly = Assembly(options, plan.network, str(plan.seed), STEPS_MAX)
        self.wants: dict[str, list[str]] = {}
        self.faults: dict[str, int] = {}
        self.born = 0

    def run(self) -> None:
        for _ in range(self.plan.peers):
            self._come()
            self.assembly.run(self.rng.uniform(0.0, 0.3))
        for _ in range(self.plan.rounds):
            self._trouble()
            self._calm()

    def _come(self) -> None:
        """Somebody new, who knows one peer, whatever that one wants."""
        self.born += 1
        self._begin(f"p{self.born}")

    def _begin(self, peer: str) -> None:
        known = self.assembly.alive()
        self.assembly.start(peer, (self.rng.choice(known),) if known else ())
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
        if self.plan.parts:
            self.assembly.kernel.after(self.rng.uniform(0, span), self._part)
        self.assembly.run(span)
        self.assembly.network.heal()

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
            self._noted("change of mind")
            topic = self.rng.choice(self.plan.topics)
            if topic not in self.wants[peer]:
                self.wants[peer].append(topic)
                self.assembly.join(peer, topic)

    def _crash(self) -> None:
        """It is back some time later, at the same address, and wants something else; or never."""
        peer = self._someone()
        if peer is None or len(self.assembly.alive()) < 3:
            return
        self._noted("crashed peer")
        self.assembly.crash(peer)
        if self.rng.random() < 0.5:
            self.assembly.kernel.after(self.rng.uniform(0.1, 3.0), self._rise, peer)

    def _rise(self, peer: str) -> None:
        if peer not in self.assembly.alive():
            self._noted("another life")
            self._begin(peer)

    def _part(self) -> None:
        peers = self.assembly.alive()
        self._noted("parted network")
        self.assembly.network.split(self.rng.sample(peers, len(peers) // 2))

    def _someone(self) -> str | None:
        peers = self.assembly.alive()
        return self.rng.choice(peers) if peers else None

    # --- events

    def _publish(self) -> None:
        """On a topic that somebody is a member for, or below it."""
        members = [peer for peer in self.assembly.alive() if self.wants[peer]]
        if members:
            peer = self.rng.choice(members)
            self.assembly.publish(peer, self._topic_of(self.rng.choice(self.wants[peer])))

    def _topic_of(self, community: str) -> str:
        return "a" if community == "#" else community

    def _calm(self) -> None:
        self.assembly.run(SETTLE_S)
        kernel = self.assembly.kernel
        self.assembly.records.append(Record(kernel.now, "", Kind.CALM))
        began = kernel.now
        for _ in range(self.plan.calm_events):
            self._publish_as_member()
            self.assembly.run(0.7 * CALM_S / self.plan.calm_events)
        self.assembly.run(began + CALM_S - kernel.now)

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
    records = run.assembly.records
    return _judged(plan, records, problems, run.faults)


def _judged(
    plan: GatheringPlan, records: list[Record], problems: list[Violation], faults: dict[str, int]
) -> GatheringOutcome:
    hierarchy = Hierarchy(plan.parents)

    def ladder(topic: str) -> tuple[str, ...]:
        return tuple(filter_of(each) for each in hierarchy.ladder(topic))

    topic = plan.topic
    terms = Terms(topic.c, topic.g, topic.a, topic.z, 1.0 - plan.network.loss)
    even = even_size(topic.c)
    verdict = check_reception(records, ladder, terms, CALM_S)
    found = [
        *problems,
        *check_parasites(records, ladder, late_s_max=LEASE_S + 1.0),
        *check_views(records, topic.scamp.view_max, topic.z),
        *check_view_sizes(records, even if topic.membership == "structured" else scamp_size(topic.scamp.copies)),
        *verdict.violations,
    ]
    published = sum(record.kind is Kind.PUBLISHED for record in records)
    delivered = sum(record.kind is Kind.DELIVERED for record in records)
    return GatheringOutcome(plan, found, records, published, delivered, round(verdict.owed), faults)


def run_gathering_seed(seed: int) -> GatheringOutcome:
    return run_gathering(draw_gathering(seed))
