"""One random schedule: from a seed to a verdict.

The seed draws a network, a routing strategy, a workload and faults. Each round has a *safety* phase (clients publish
and come and go, links change, faults happen) and a *liveness* phase (faults are healed; all must come to rest within
a bounded time). A last round without faults or changes shows that events travel only where they are wanted. Then the
checkers read the trace.

Owns: what a schedule consists of. Must not know: what is right; that is for the checkers.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from reknit.core.io import Presence
from reknit.core.overlay.shapes import names, shape_edges
from reknit.core.routing.table import client as client_hop
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.aims import Aims
from reknit.sim.checkers.bounds import check_bounds
from reknit.sim.checkers.delivery import Tally, check_delivery
from reknit.sim.checkers.homes import check_homes
from reknit.sim.checkers.order import check_order
from reknit.sim.checkers.recovery import check_recovery
from reknit.sim.checkers.sessions import check_sessions
from reknit.sim.checkers.shares import check_shares
from reknit.sim.checkers.succession import check_succession
from reknit.sim.checkers.tables import check_tables
from reknit.sim.checkers.tree import check_tree
from reknit.sim.checkers.violation import Violation, failure
from reknit.sim.checkers.whole import check_whole
from reknit.sim.checkers.wishes import check_wishes
from reknit.sim.clients import EXPORT_S_MAX
from reknit.sim.cluster import Cluster, Runaway
from reknit.sim.faults import FaultOptions, Faults
from reknit.sim.operator import Operator
from reknit.sim.plans import FOCI, TARGETED_S, Focus, Plan, aimed, broker_options, draw, is_wired, own_options, still
from reknit.sim.targets import Targets
from reknit.sim.workload import World
from reknit.trace.records import Kind, Record

__all__ = ["FOCI", "Focus", "Outcome", "Plan", "draw", "judge", "run", "run_seed"]

LIVENESS_S_MAX = 120.0
"""Virtual seconds within which a healed network must come to rest."""

STEPS_MAX = 60_000
"""Inputs that all brokers of one schedule handle together; a sound one needs some thousand, with many newcomers 30."""

GOSSIP_STEPS_MAX = 600_000
"""The same where brokers gossip: a push goes on for as long as there is something to offer."""

TAKE_S_MAX = 0.3
"""Where sessions move, how long an event waits in one for its client at most."""

STRIKE_S_MAX = 1.0
"""Within so long of each other a broker is drained and one that takes part in it dies; it is back within as long."""

INTERRUPTED = 0.3
"""How often one of the two brokers dies when a session is on its way from one with a store to another."""

OUT_OF_REACH = 0.5
"""How often a client that comes elsewhere finds its home out of reach, and begins anew."""

REACTIONS_MAX = 60
"""Events that clients publish because they have seen one, in one schedule."""


@dataclass(slots=True)
class Outcome:
    plan: Plan
    violations: list[Violation]
    tally: Tally
    records: list[Record]
    faults: dict[str, int] = field(default_factory=dict)
    refused: int = 0


class _Run:
    """The clients and the operator of one schedule."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.rng = random.Random(f"{plan.seed}/run")
        self.faults: dict[str, int] = {}
        self.world = World(random.Random(f"{plan.seed}/world"), plan.content)
        edges = shape_edges(plan.shape, names(plan.brokers), self.rng)
        self.cluster = Cluster(edges, broker_options(plan, LIVENESS_S_MAX), plan.network, str(plan.seed))
        if plan.mixed:
            self.cluster.network.is_stream = lambda one, other: is_wired(one) and is_wired(other)
        self.cluster.options_of = lambda name: own_options(plan, self.cluster.options, name)
        self.cluster.network.loss = 0.0 if plan.recovery != "none" else plan.network.loss  # until all is there
        self.operator = Operator(self.cluster, self.rng)
        self.aims = Aims(self.cluster, random.Random(f"{plan.seed}/aims"), self.faults)
        own = random.Random(f"{plan.seed}/targets")
        self.targets = Targets(self.cluster, own, self.faults, self._give_clients)
        self.cluster.clients.took = self._react
        self.cluster.clients.moved = self._moved
        self.cluster.clients.ousted = self._ousted
        self.cluster.clients.leaving = self._interrupt if plan.lasting else None
        self.cluster.clients.take_s_max = TAKE_S_MAX if plan.drains or plan.hops_per_s else None
        self.cluster.order_of = lambda client: plan.order_s if client.endswith("1") else 0.0
        self.cluster.steps_max = STEPS_MAX if plan.recovery == "none" else GOSSIP_STEPS_MAX
        self.wants: dict[tuple[str, str], dict[Pattern, None]] = {}  # by broker and client
        self.crowd = random.Random(f"{plan.seed}/groups")
        self.walker = random.Random(f"{plan.seed}/walker")
        self.striker = random.Random(f"{plan.seed}/striker")
        self.groups = [(f"g{number + 1}", self.world.pattern()) for number in range(plan.groups)]
        self.shares: dict[tuple[str, str], dict[tuple[str, Pattern], None]] = {}  # by broker and client
        self.lives: dict[str, int] = {}  # by broker: the life in which its clients came
        self.reactions = 0
        self.quiet = True

    def run(self) -> list[Violation]:
        self.cluster.start_all()
        self._give_clients(self.cluster.nodes)
        self._bring_clients()
        problems = self._settle("at the start")
        for number in range(1, self.plan.rounds + 1):
            if problems:
                return problems
            self._round(self.plan)
            problems = self._settle(f"after round {number}")
        for number in range(1, self.plan.aims + 1):
            if not problems:
                self.aims.schedule(self.plan, self._bring_clients)
                self._round(aimed(self.plan))
                self.aims.stop()
                problems = self._settle(f"after the replacement {number}")
        for number in range(1, self.plan.targets + 1):
            if not problems:
                self.targets.schedule(TARGETED_S, self.plan.faults.crashes > 0, self._bring_clients)
                self._round(aimed(self.plan, TARGETED_S))
                self.targets.stop()
                problems = self._settle(f"after the change {number}")
        if not problems:
            self._round(still(self.plan))
            problems = self._settle("at the end")
        return problems

    def _settle(self, when: str) -> list[Violation]:
        self._bring_clients()
        calm = self.cluster.settle(LIVENESS_S_MAX)
        if calm or (self.operator.clear_away(self.faults) and self.cluster.settle(LIVENESS_S_MAX)):
            return []
        return [Violation("liveness", self.cluster.kernel.now, f"not at rest {when}: {self.cluster.restlessness()}")]

    def _round(self, plan: Plan) -> None:
        changing = plan.churn_per_s or plan.links_per_s or plan.swaps_per_s or plan.replaces_per_s
        calm = plan.faults == FaultOptions() and not changing
        span = 1.0 if calm else plan.round_s
        self.quiet = False
        self.cluster.network.loss = self.plan.network.loss
        for name in [name for name, node in self.cluster.nodes.items() if node.lost and not calm]:
            self.cluster.kernel.after(self.rng.uniform(0, span), self._find_again, name)
        hand = Faults(self.cluster, plan.faults, self.rng, self.faults)
        hand.schedule(span)
        self._spread(plan.publish_per_s * span, span, self._publish)
        self._spread(plan.churn_per_s * span, span, self._churn)
        self._spread(plan.churn_per_s * span if self.groups else 0.0, span, self._share)
        if not calm:
            self._spread(plan.hops_per_s * span, span, self._hop)
        self._spread(plan.links_per_s * span, span, self.operator.change_link)
        self._spread(plan.swaps_per_s * span, span, self.operator.swap)
        self._spread(plan.replaces_per_s * span, span, self.operator.replace)
        if plan.churn_per_s or plan.links_per_s or plan.faults != FaultOptions():
            self.cluster.kernel.after(self.rng.uniform(0, span), self._add_brokers, plan.newcomers)
            self._spread(plan.drains, span, self._drain)
        if plan.faults.crashes or plan.newcomers or plan.drains:
            self._spread(2 * span, span, self._bring_clients)
        self.cluster.kernel.run(until=self.cluster.kernel.now + span)
        self.quiet = True
        hand.heal()
        if self.plan.recovery != "none":
            self.cluster.network.loss = 0.0
            self._tell_what_is_kept()

    def _tell_what_is_kept(self) -> None:
        """Write into the trace what is in the caches of the brokers that live."""
        now = self.cluster.kernel.now
        for name, node in self.cluster.nodes.items():
            if node.broker is not None and node.broker.recovery is not None:
                kept = node.broker.recovery.cache
                self.cluster.records += [Record(now, name, Kind.KEPT, event=event) for event in kept]

    def _spread(self, count: float, span: float, deed: Callable[[], None]) -> None:
        for _ in range(int(count)):
            self.cluster.kernel.after(self.rng.uniform(0, span), deed)

    # --- clients

    def _give_clients(self, brokers: Iterable[str]) -> None:
        """Under names that nobody has: those of a broker that was lost may have moved before."""
        taken = {client for _, client in self.wants}
        for broker in brokers:
            free = (name for number in itertools.count(1) if (name := f"{broker}-c{number}") not in taken)
            for client in itertools.islice(free, self.plan.clients_per_broker):
                self.wants[broker, client] = {self.world.pattern(): None for _ in range(self.rng.randint(0, 3))}
                if self.groups and self.crowd.random() < 0.5:
                    self.shares[broker, client] = {self.crowd.choice(self.groups): None}

    def _bring_clients(self) -> None:
        """Clients come (back) to brokers that have begun a new life."""
        for home, client in list(self.wants):
            if self.cluster.nodes[home].lost:
                del self.wants[home, client]
            elif self.cluster.nodes[home].gone:  # it was not there when the others were sent on
                self._moved(client, home, self._heir(home))
        for broker, node in self.cluster.nodes.items():
            if node.broker is None or node.paused or self.lives.get(broker) == node.incarnation:
                continue
            self.lives[broker] = node.incarnation
            for (home, client), patterns in self.wants.items():
                if home != broker:
                    continue
                if self.plan.lasting and self.cluster.clients.has_session(broker, client):
                    self._repeat(broker, client, patterns)
                else:
                    self._attach(broker, client, patterns)

    def _attach(self, broker: str, client: str, patterns: Iterable[Pattern]) -> None:
        self.cluster.attach(broker, client, patterns)
        for share in self.shares.get((broker, client), ()):
            self.cluster.join(broker, client, *share)

    def _repeat(self, broker: str, client: str, patterns: dict[Pattern, None]) -> None:
        """A client whose session has lasted says again what the broker has died of before it could answer."""
        if self.plan.hops_per_s:  # it may have come while the broker was away
            self.cluster.clients.come_back(broker, client)
        shelf = self.cluster.nodes[broker].shelf
        held, had = (shelf.clients.get(client, ()), shelf.shares.get(client, ())) if shelf is not None else ((), ())
        self._say_again(broker, client, patterns, held, had)

    def _say_again(
        self,
        broker: str,
        client: str,
        patterns: Iterable[Pattern],
        held: Sequence[Pattern],
        had: Sequence[tuple[str, Pattern]],
    ) -> None:
        """``held``, ``had``: what its broker knows."""
        self.cluster.subscribe(broker, client, *(each for each in patterns if each not in held))
        self.cluster.unsubscribe(broker, client, *(each for each in held if each not in patterns))
        shares = self.shares.get((broker, client), {})
        for share in (each for each in shares if each not in had):
            self.cluster.join(broker, client, *share)
        for share in (each for each in had if each not in shares):
            self.cluster.part(broker, client, *share)
        self.cluster.give(broker, Presence(client, present=True, room=True))

    def _find_again(self, name: str) -> None:
        """Who was lost for good in the round before is back after all, with all that it remembers."""
        if self.rng.random() < 0.7:
            self.cluster.find_again(name)
            self.faults["returned broker"] = self.faults.get("returned broker", 0) + 1
            self._give_clients([name])

    def _heir(self, broker: str) -> str:
        while self.cluster.nodes[broker].gone:
            broker = self.cluster.nodes[broker].heir
        return broker

    def _moved(self, client: str, old: str, new: str) -> None:
        """A client was sent elsewhere. If its session is not there (any more), it says anew what it wants."""
        wants = self.wants[new, client] = self.wants.pop((old, client))
        self.shares[new, client] = self.shares.pop((old, client), {})
        node = self.cluster.nodes[new]
        served = node.broker is not None and self.lives.get(new) == node.incarnation
        if served and not self.cluster.clients.has_session(new, client):
            self._attach(new, client, wants)

    def _hop(self) -> None:
        """A client comes to another broker. Mostly it is served by its home all the same, through that one.

        Where nobody knows of a home there, or it is out of reach, it begins anew.
        """
        someone, nodes = self._someone(), self.cluster.nodes
        there = [name for name, node in nodes.items() if node.broker and not node.paused and not node.heir]
        if someone is None or not there:
            return
        (old, client), new = someone, self.walker.choice(there)
        broker = nodes[new].broker
        if broker is not None and broker.sessions.arrivals.awaits(client):
            return  # its session is on its way there, and the door has no time for it yet
        home = broker.homes.elsewhere(client) if broker is not None else None
        if new != old and (home is None or self.walker.random() < OUT_OF_REACH):
            self._go_on(client, old, new)

    def _ousted(self, client: str, here: str) -> None:
        """Of two sessions of this client the other has won: it comes again, and goes on with that one, if any."""
        broker = self.cluster.nodes[here].broker
        home = broker.homes.elsewhere(client) if broker is not None else None
        if (here, client) in self.wants:
            self._go_on(client, here, home.broker if home is not None else here)

    def _go_on(self, client: str, old: str, new: str) -> None:
        """With the session that it has there, or with a new one."""
        wants = self.wants[new, client] = self.wants.pop((old, client))
        self.shares[new, client] = self.shares.pop((old, client), {})
        there = self.cluster.nodes[new].broker
        if there is not None and self.cluster.clients.has_session(new, client):
            self.cluster.clients.come_back(new, client)
            held = there.routing.table.of(client_hop(client))
            self._say_again(new, client, wants, held, there.shares.of(client))
        elif there is not None:
            self._attach(new, client, wants)
        else:
            self.cluster.clients.wait_at(new, client)

    def _someone(self) -> tuple[str, str] | None:
        """A client whose broker serves it now."""
        nodes, clients = self.cluster.nodes, self.cluster.clients
        here = [
            key
            for key in self.wants
            if nodes[key[0]].broker is not None
            and self.lives.get(key[0]) == nodes[key[0]].incarnation
            and clients.is_served(*key)
        ]
        return self.rng.choice(here) if here else None

    def _publish(self) -> None:
        if (someone := self._someone()) is not None:
            events = [self._event() for _ in range(self.rng.choice((1, 1, 1, 3)))]
            self.cluster.publish(*someone, *events)

    def _event(self) -> Event:
        event = self.world.event()
        event.qos = int(self.plan.lasting)
        return event

    def _churn(self) -> None:
        someone = self._someone()
        if someone is None:
            return
        wants, pattern = self.wants[someone], self.world.pattern()
        if pattern in wants and self.rng.random() < 0.8:
            del wants[pattern]
            self.cluster.unsubscribe(*someone, pattern)
        elif self.rng.random() < 0.1:
            self.cluster.detach(*someone)
            self._attach(*someone, wants)
        else:
            wants[pattern] = None
            self.cluster.subscribe(*someone, pattern)

    def _share(self) -> None:
        """A client joins a group, or leaves it."""
        someone = self._someone()
        if someone is None:
            return
        shares, share = self.shares.setdefault(someone, {}), self.crowd.choice(self.groups)
        if share in shares:
            del shares[share]
            self.cluster.part(*someone, *share)
        else:
            shares[share] = None
            self.cluster.join(*someone, *share)

    def _react(self, broker: str, client: str, event: Event) -> None:
        """A client that has seen an event may publish one: the stuff of causal chains."""
        if not self.quiet and self.reactions < REACTIONS_MAX and self.rng.random() < self.plan.reaction:
            self.reactions += 1
            self.cluster.kernel.after(0.0, self._publish_as, broker, client, self.cluster.nodes[broker].incarnation)

    def _publish_as(self, broker: str, client: str, incarnation: int) -> None:
        same_life = self.cluster.nodes[broker].incarnation == incarnation
        if same_life and self.cluster.clients.is_served(broker, client):
            self.cluster.publish(broker, client, self._event())

    # --- the operator

    def _add_brokers(self, count: int) -> None:
        """New brokers, each of which asks for a link: with one that is there, or with the next of them, in a ring."""
        known = list(self.cluster.nodes)
        new = [f"n{len(known) + number}" for number in range(count)]
        for name in new:
            self.cluster.add_node(name)
            self.cluster.start(name)
        self._give_clients(new)
        for place, name in enumerate(new):
            ring = len(new) > 1 and self.rng.random() < 0.5
            self.cluster.add_link(name, new[(place + 1) % len(new)] if ring else self.rng.choice(known))

    def _drain(self) -> None:
        links = self.operator.links()
        leaves = [name for name, others in links.items() if len(others) == 1]
        if not leaves or len(links) < 2:
            return
        leaf = self.rng.choice(leaves)
        if self.plan.faults.crashes and self.rng.random() < 0.7:
            victim = self.rng.choice((leaf, links[leaf][0], links[leaf][0]))
            self.cluster.kernel.after(self.rng.uniform(0, STRIKE_S_MAX), self._strike, victim)
        self.cluster.kernel.after(self.rng.uniform(0, STRIKE_S_MAX), self.cluster.drain, leaf)

    def _strike(self, victim: str) -> None:
        """Whoever takes part in a drain may die in the midst of it, or shortly before."""
        if not self.quiet and self.cluster.is_alive(victim):
            self.cluster.crash(victim)
            self.faults["crash"] = self.faults.get("crash", 0) + 1
            self.cluster.kernel.after(self.rng.uniform(0.05, STRIKE_S_MAX), self.cluster.start_again, victim)

    def _interrupt(self, leaver: str) -> None:
        """With stores nothing is lost by that, so it is tried where it is hardest: when a session is on its way."""
        if self.striker.random() < INTERRUPTED:
            victim = self.striker.choice((leaver, leaver, self.cluster.nodes[leaver].heir))
            within_s = EXPORT_S_MAX + 4 * self.plan.network.latency_s_max
            self.cluster.kernel.after(self.striker.uniform(0, within_s), self._strike, victim)


def judge(plan: Plan, records: list[Record], tally: Tally) -> list[Violation]:
    lossy = plan.recovery != "none"
    return [
        *(check_recovery if lossy else check_delivery)(records, tally, lasting=plan.lasting),
        *(check_succession(records) if lossy else check_order(records)),
        *check_tree(records),
        *(() if plan.links_per_s else check_whole(records)),
        *check_tables(records, plan.routing, plan.covering),
        *check_bounds(records),
        *(check_sessions(records, lasting=plan.lasting, once=not plan.hops_per_s) if plan.drains else ()),
        *(check_homes(records) if plan.unique else ()),
        *(check_shares(records, tally, lasting=plan.lasting, lossy=lossy) if plan.groups else ()),
    ]


def run(plan: Plan) -> Outcome:
    schedule = _Run(plan)
    try:
        problems = schedule.run()
    except Runaway as error:
        problems = [Violation("liveness", schedule.cluster.kernel.now, str(error))]
    except Exception as error:  # whatever it is that breaks a broker: it is what went wrong, and ends no other schedule
        found = [failure(error, schedule.cluster.kernel.now)]
        return Outcome(plan, found, Tally(), schedule.cluster.records, schedule.faults)
    tally = Tally()
    records = schedule.cluster.records
    refused = sum(1 for error in schedule.cluster.replies.values() if error)
    found = [*problems, *judge(plan, records, tally), *check_wishes(records, schedule.wants)]
    return Outcome(plan, found, tally, records, schedule.faults, refused)


def run_seed(seed: int, focus: Focus = "all") -> Outcome:
    return run(draw(seed, focus))
