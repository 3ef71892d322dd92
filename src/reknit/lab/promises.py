"""What is promised to clients while links are replaced under concurrent traffic: which promises a strategy keeps.

Clients publish all the time, and answer what they hear at once, so that there are causes and effects. Links are
replaced one after the other as an operator does it: by a strategy along its path, or by a chain of swaps. Then the
checkers read the trace.

They are shown it as if no link had ever changed: whoever was connected is to be connected all the time, and what was
published is owed to whoever wanted it. (As they are used elsewhere, a link that is removed releases from debts.)

Owns: running a world under traffic, and judging it. Must not know: figures.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from reknit.core.overlay.options import ChangeOptions
from reknit.core.overlay.shapes import Edge, adjacency
from reknit.core.overlay.swap import Step, after, plan_replacement
from reknit.lab.lateness import Clock, Epoch
from reknit.lab.population import latencies
from reknit.lab.scenarios import NotSettled, quiet_options
from reknit.lab.worlds import Replacement, World, replaced
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.delivery import Tally, check_delivery
from reknit.sim.checkers.order import check_order
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind, Record

__all__ = ["STRATEGIES", "SWAP", "Judgement", "judge", "run_under_traffic"]

SWAP = "swap"
STRATEGIES = ("strawman", "deferred", "path", "path-batched", SWAP)

TOPICS = ("north", "east", "south", "west")
PERIOD_S = 0.02
"""Between two publications of a client on its own account."""
ANSWERED = 0.2
"""The share of deliveries that a client answers at once, of those to events that are no answers to an answer."""
DEPTH_MAX = 2
SUBSCRIBED_S = 0.02
"""Between two subscriptions, somewhere; each is one that nobody has had before, so that all brokers hear of it."""
DEFER_S = 0.2
APART_S = 0.05
"""Between two changes: longer than an event is under way."""
WARM_S = 0.2
SETTLE_S_MAX = 600.0
STEP_S = 0.001

_LINKS = (Kind.LINK_ADDED, Kind.LINK_REMOVED, Kind.LINK_MOVED, Kind.LINK_HANDED, Kind.LINK_TAKEN)


@dataclass(slots=True)
class Judgement:
    published: int = 0
    owed: int = 0
    delivered: int = 0
    changes: int = 0
    lost: int = 0
    duplicated: int = 0
    not_fifo: int = 0
    not_causal: int = 0
    late: int = 0
    ordered: int = 0
    """Late ones that have waited for order."""
    late_s_max: float = 0.0
    told: int = 0
    """Subscriptions that came to a broker, each at each."""
    told_late: int = 0
    told_late_s_max: float = 0.0
    copies: int = 0
    """That came to a broker, and were dropped there."""
    examples: dict[str, str] = field(default_factory=dict)
    """The first of each kind."""


class _Traffic:
    """Clients, one at each broker, that want some topics and publish to all."""

    def __init__(self, world: World, seed: str) -> None:
        options = msgspec.structs.replace(
            quiet_options("subscription-forwarding"), changes=ChangeOptions(defer_s=DEFER_S)
        )
        self.cluster = Cluster(world.edges, options, NetworkOptions(), seed)
        self.cluster.network.latency_of = latencies(seed)
        self.cluster.clients.took = self._answer
        self.rng = random.Random(f"{seed}/traffic")
        self.churn = random.Random(f"{seed}/churn")
        self.subscribed = 0
        self.members = sorted(adjacency(world.edges))
        self.publishing = False
        self.cluster.start_all()
        for name in self.members:
            wants = self.rng.sample(TOPICS, self.rng.randint(1, 2))
            self.cluster.attach(name, f"at {name}", [Pattern.parse(topic) for topic in wants])
        self.settle()

    @property
    def now(self) -> float:
        return self.cluster.kernel.now

    def run(self, span_s: float) -> None:
        self.cluster.kernel.run(until=self.now + span_s)

    def settle(self) -> None:
        if not self.cluster.settle(SETTLE_S_MAX):
            raise NotSettled(self.cluster.restlessness())

    def begin(self) -> None:
        self.publishing = True
        for name in self.members:
            self.cluster.kernel.after(self.rng.uniform(0, PERIOD_S), self._publish, name)
        self.cluster.kernel.after(self.churn.uniform(0, SUBSCRIBED_S), self._subscribe)

    def _publish(self, name: str) -> None:
        if self.publishing:
            self.cluster.kernel.after(self.rng.uniform(0.5, 1.5) * PERIOD_S, self._publish, name)
            self.cluster.publish(name, f"at {name}", Event(self.rng.choice(TOPICS), attributes={"depth": 0}))

    def _subscribe(self) -> None:
        if self.publishing:
            self.cluster.kernel.after(self.churn.uniform(0.5, 1.5) * SUBSCRIBED_S, self._subscribe)
            self.subscribed += 1
            name = self.churn.choice(self.members)
            self.cluster.subscribe(name, f"at {name}", Pattern.parse(f"new/{self.subscribed}"))

    def _answer(self, node: str, client: str, event: Event) -> None:
        depth = int(event.attributes["depth"])
        if self.publishing and depth < DEPTH_MAX and self.rng.random() < ANSWERED:
            answer = Event(self.rng.choice(TOPICS), attributes={"depth": depth + 1})
            self.cluster.kernel.after(0.0, self.cluster.publish, node, client, answer)

    def ask(self, request: int) -> None:
        limit = self.now + SETTLE_S_MAX
        while request not in self.cluster.replies and self.now < limit:
            self.run(STEP_S)
        if error := self.cluster.replies.get(request, "there was no reply"):
            raise NotSettled(error)


def run_under_traffic(world: World, strategy: str, seed: str) -> Judgement:
    traffic = _Traffic(world, seed)
    start = len(traffic.cluster.records)
    epochs = [Epoch(0.0, tuple(world.edges), tuple(world.edges))]
    traffic.begin()
    traffic.run(WARM_S)
    edges = list(world.edges)
    for replacement in world.replacements:
        for goal, deed in _deeds(traffic.cluster, strategy, edges, replacement):
            epochs.append(Epoch(traffic.now, tuple(edges), tuple(goal)))
            traffic.ask(deed())
            traffic.run(APART_S)
            edges = goal
    traffic.run(WARM_S)
    traffic.publishing = False
    traffic.settle()
    found = judge(traffic.cluster.records, start, epochs, latencies(seed))
    found.changes = len(world.replacements)
    return found


def _deeds(
    cluster: Cluster, strategy: str, edges: list[Edge], replacement: Replacement
) -> Iterator[tuple[list[Edge], Callable[[], int]]]:
    """What an operator asks for, one after the other, and the tree that each gives."""
    head, tail = replacement.head, replacement.tail
    if strategy != SWAP:
        yield replaced(edges, replacement), lambda: cluster.replace_link(strategy, head, tail)
        return
    for step in plan_replacement(edges, (head[0], tail[-1]), (head[-1], tail[0])):
        edges = after(edges, step)
        yield edges, _swap(cluster, step)


def _swap(cluster: Cluster, step: Step) -> Callable[[], int]:
    return lambda: cluster.swap(*step)


# --- judging


def judge(
    records: Sequence[Record], start: int, epochs: Sequence[Epoch], latency_of: Callable[[str, str], float]
) -> Judgement:
    """``start``: how many records there are before anything was published or changed."""
    found, tally = Judgement(), Tally()
    shown = [*records[:start], *(record for record in records[start:] if record.kind not in _LINKS)]
    for violation in check_delivery(shown, tally):
        found.examples.setdefault("duplicated" if violation.what.endswith("twice") else "lost", violation.what)
    found.published, found.owed, found.delivered = tally.published, tally.owed, tally.delivered
    found.lost, found.duplicated = tally.lost, tally.duplicated
    for violation in check_order(records):
        if violation.what.startswith("not FIFO"):
            found.not_fifo += 1
            found.examples.setdefault("not_fifo", violation.what)
        else:
            found.not_causal += 1
            found.examples.setdefault("not_causal", violation.what)
    found.copies = sum(record.kind is Kind.DROPPED and record.detail == "copy" for record in records)
    clock = Clock(records[start:], epochs, latency_of)
    for excess_s, what in clock.told():
        found.told += 1
        found.told_late += excess_s > 0.0
        found.told_late_s_max = max(found.told_late_s_max, excess_s)
        if excess_s > 0.0:
            found.examples.setdefault("told_late", what)
    for excess_s, ordered, what in clock.late():
        found.late += 1
        found.ordered += ordered
        found.late_s_max = max(found.late_s_max, excess_s)
        found.examples.setdefault("late", what)
    return found
