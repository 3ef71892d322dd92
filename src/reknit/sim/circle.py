"""Schedules of brokers on a ring: from a seed to a verdict.

The seed draws a ring, clients with topics, and what happens: brokers come, leave, crash and die for good; connections
break and pairs are cut off; subscriptions come and go. After each round all is healed, and must come to rest.

Owns: what such a schedule consists of. Must not know: what is right; that is for the checkers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from reknit.core.homes.options import HomeOptions
from reknit.core.io import Relocate
from reknit.core.options import BrokerOptions
from reknit.core.placement.options import PlacementOptions
from reknit.core.ring.options import RingOptions
from reknit.core.ring_broker import RingBroker
from reknit.core.routing.table import client as client_hop
from reknit.model.pattern import Pattern
from reknit.sim.checkers.bounds import check_bounds
from reknit.sim.checkers.delivery import Tally, check_delivery_on_ring
from reknit.sim.checkers.order import check_order_by_topic
from reknit.sim.checkers.placing import check_placing
from reknit.sim.checkers.sessions import check_sessions
from reknit.sim.checkers.trees import check_trees
from reknit.sim.checkers.violation import Violation, failure
from reknit.sim.checkers.wishes import check_wishes
from reknit.sim.cluster import CALM_POLL_S, Cluster, Runaway
from reknit.sim.coverage import POINTS_OF_PLACES
from reknit.sim.faults import FaultOptions, Faults
from reknit.sim.network import NetworkOptions
from reknit.sim.workload import World
from reknit.trace.records import Kind, Record

__all__ = ["CircleOutcome", "CirclePlan", "draw_circle", "run_circle", "run_circle_seed"]

LIVENESS_S_MAX = 240.0
"""Virtual seconds within which a healed ring must come to rest."""

QUIET_S = 12.0
"""For so long nothing must have changed: more than the time between two looks at anything."""

STEPS_MAX = 600_000
"""Inputs that all brokers of one schedule handle together. A ring never sleeps: it asks its successors for ever."""

BROKERS_LEFT_MIN = 2

STRIKE_S_MAX = 3.0
"""Within so long of the beginning of a planned change somebody dies, who is back within as long."""

AIMED = 0.5
"""How often that is at a chosen step: the last ones are over in a moment, which chance alone hardly meets."""

TAKE_S_MAX = 0.3
"""How long an event waits in a session for its client at most."""

SETTLE_S, STAY_S, LOAD_WEIGHT = 0.5, 15.0, 0.5
"""Of the placement by interest: when a client is looked at, how long it stays at least, and what load counts."""

REPORT_S = 1.0
"""How often a broker tells the manager what it wants and publishes."""

DELAY_WEIGHT = 30.0
"""So much that a change pays for the few events of a schedule."""


class CirclePlan(msgspec.Struct, frozen=True):
    """Everything that a seed decides before the run."""

    seed: int
    brokers: int
    network: NetworkOptions
    faults: FaultOptions
    rounds: int
    round_s: float
    clients_per_broker: int
    content: float
    publish_per_s: float
    churn_per_s: float
    comers: int
    """Brokers that come in each round."""
    leavers: int
    """Brokers that leave in each round; some of their clients have gone before, and others are sent on."""
    deaths: int
    """Brokers that die for good in each round."""
    changes: int
    """Planned changes of places in each round."""
    strike: float
    """How often a broker, or the manager itself, dies in the middle of one."""
    free_s: float
    """How often whoever manages the ring looks for better places by itself; 0: never."""
    moves: int = 0
    """Sessions that are sent to another broker in each round."""
    update_s: float = 0.0
    """How often brokers tell each other what is wanted, and clients are placed by that; 0: never."""


def draw_circle(seed: int) -> CirclePlan:
    rng, walker = random.Random(f"{seed}/circle"), random.Random(f"{seed}/walker")
    return CirclePlan(
        seed=seed,
        brokers=rng.randint(1, 7),
        network=NetworkOptions(latency_s_max=rng.choice((0.005, 0.05, 0.3))),
        faults=_draw_faults(rng) if rng.random() < 0.7 else FaultOptions(),
        rounds=rng.randint(1, 2),
        round_s=rng.choice((4.0, 10.0)),
        clients_per_broker=rng.randint(1, 2),
        content=rng.choice((0.0, 0.5)),
        publish_per_s=rng.choice((4.0, 12.0)),
        churn_per_s=rng.choice((0.0, 0.5, 2.0)),
        comers=rng.choice((0, 0, 1, 3)),
        leavers=rng.choice((0, 0, 1, 2)),
        deaths=rng.choice((0, 0, 0, 1)),
        changes=rng.choice((0, 1, 2)),
        strike=rng.choice((0.0, 0.7)),
        free_s=rng.choice((0.0, 0.0, 3.0)),
        moves=walker.choice((0, 0, 3, 12)),
        update_s=walker.choice((0.0, 0.0, 0.5)),
    )


def _draw_faults(rng: random.Random) -> FaultOptions:
    def sometimes(rate: float) -> float:
        return rate if rng.random() < 0.4 else 0.0

    return FaultOptions(
        breaks=sometimes(12.0),
        partitions=sometimes(4.0),
        asymmetric=sometimes(4.0),
        crashes=sometimes(rng.choice((4.0, 12.0))),
        pauses=sometimes(4.0),
        span_s_max=rng.choice((1.0, 8.0)),
    )


@dataclass(slots=True)
class CircleOutcome:
    plan: CirclePlan
    violations: list[Violation]
    tally: Tally
    records: list[Record]
    faults: dict[str, int] = field(default_factory=dict)


class _Circle:
    """The clients and the operator of one schedule."""

    def __init__(self, plan: CirclePlan) -> None:
        self.plan = plan
        self.rng = random.Random(f"{plan.seed}/run")
        self.world = World(random.Random(f"{plan.seed}/world"), plan.content, exact=True)
        ring = RingOptions(free_s=plan.free_s, report_s=REPORT_S, delay_weight=DELAY_WEIGHT)
        placing = PlacementOptions(update_s=plan.update_s, settle_s=SETTLE_S, stay_s=STAY_S, load_weight=LOAD_WEIGHT)
        homes = HomeOptions(unique=bool(plan.moves or plan.update_s))
        options = BrokerOptions(routing="rendezvous", observe=True, ring=ring, placement=placing, homes=homes)
        self.cluster = Cluster([], options, plan.network, str(plan.seed))
        self.cluster.steps_max = STEPS_MAX
        self.cluster.clients.moved = self._moved
        self.cluster.clients.ousted = self._ousted
        self.cluster.clients.take_s_max = TAKE_S_MAX
        self.walker = random.Random(f"{plan.seed}/walks")
        self.wants: dict[tuple[str, str], dict[Pattern, None]] = {}  # by broker and client
        self.lives: dict[str, int] = {}  # by broker: the life in which its clients came
        self.faults: dict[str, int] = {}
        self.leaving: dict[str, None] = {}
        self.quiet = True
        self.aimer = random.Random(f"{plan.seed}/aims")
        self.aim = ""  # the step of a change behind which whoever has taken it dies; empty if there is none
        self.cluster.observed = self._see

    def run(self) -> list[Violation]:
        for _ in range(self.plan.brokers):
            self._come()
        problems = self._settle("at the start")
        for number in range(1, self.plan.rounds + 1):
            if problems:
                return problems
            self._round(self.plan.round_s, self.plan.faults, self.plan.churn_per_s)
            problems = self._settle(f"after round {number}")
        if not problems:
            self._round(1.0, None, 0.0)
            problems = self._settle("at the end")
        return problems

    # --- rest

    def _settle(self, when: str) -> list[Violation]:
        self._bring_clients()
        cluster, limit = self.cluster, self.cluster.kernel.now + LIVENESS_S_MAX
        while cluster.kernel.now < limit:
            cluster.kernel.run(until=cluster.kernel.now + CALM_POLL_S)
            if cluster.is_calm() and cluster.kernel.now >= self._changed_at() + QUIET_S:
                cluster.records.append(Record(cluster.kernel.now, "", Kind.CALM))
                return []
        why = "; ".join(f"{name}: {ring.unrest()}" for name, ring in self._rings().items() if ring.unrest())
        return [Violation("liveness", cluster.kernel.now, f"not at rest {when}: {why}")]

    def _rings(self) -> dict[str, RingBroker]:
        nodes = self.cluster.nodes
        return {name: node.broker for name, node in nodes.items() if isinstance(node.broker, RingBroker)}

    def _changed_at(self) -> float:
        return max((ring.ring.changed_at for ring in self._rings().values()), default=0.0)

    # --- a round

    def _round(self, span: float, faults: FaultOptions | None, churn_per_s: float) -> None:
        """``faults``: None for a round in which nothing happens but events."""
        hand = Faults(self.cluster, faults or FaultOptions(), self.rng, self.faults)
        hand.schedule(span)
        self.quiet = False
        self._spread(self.plan.publish_per_s * span, span, self._publish)
        self._spread(churn_per_s * span, span, self._churn)
        if faults is not None:
            self._spread(self.plan.comers, span, self._come)
            self._spread(self.plan.leavers, span, self._leave)
            self._spread(self.plan.deaths, span, self._lose)
            self._spread(self.plan.changes, span, self._change)
            for _ in range(self.plan.moves):
                self.cluster.kernel.after(self.walker.uniform(0, span), self._send_away)
            self._spread(2 * span, span, self._bring_clients)
        self.cluster.kernel.run(until=self.cluster.kernel.now + span)
        self.quiet = True
        hand.heal()

    def _spread(self, count: float, span: float, deed: Callable[[], None]) -> None:
        for _ in range(int(count)):
            self.cluster.kernel.after(self.rng.uniform(0, span), deed)

    # --- brokers

    def _alive(self) -> list[str]:
        nodes = self.cluster.nodes.values()
        return [node.name for node in nodes if node.broker is not None and node.name not in self.leaving]

    def _come(self) -> None:
        """By way of up to two that are there."""
        alive, name = self._alive(), f"b{len(self.cluster.nodes) + 1}"
        self.cluster.add_node(name)
        contacts = self.rng.sample(alive, min(2, len(alive)))
        self.cluster.nodes[name].neighbours = {each: each for each in contacts}
        if self.cluster.nodes and not contacts and len(self.cluster.nodes) > 1:
            del self.cluster.nodes[name]  # nobody is there to ask
            return
        for number in range(1, self.plan.clients_per_broker + 1):
            self.wants[name, f"{name}-c{number}"] = {self.world.pattern(): None for _ in range(self.rng.randint(0, 3))}
        self.cluster.start(name)
        self._bring_clients()

    def _can_spare(self, alive: list[str]) -> bool:
        """Nobody may be left who knows only somebody that has gone: that one nobody could find again."""
        nodes, rings = self.cluster.nodes.values(), self._rings().values()
        down = any(node.broker is None and not node.gone and not node.lost for node in nodes)
        return len(alive) > BROKERS_LEFT_MIN and not down and all(ring.ring.knows_others for ring in rings)

    def _leave(self) -> None:
        if not self._can_spare(alive := self._alive()):
            return
        name = self.rng.choice(alive)
        self.leaving[name] = None
        self.faults["leave"] = self.faults.get("leave", 0) + 1
        for home, client in [key for key in self.wants if key[0] == name]:
            if self.plan.moves and self.walker.random() < 0.7:
                continue  # its session goes on with the next broker
            del self.wants[home, client]
            self.cluster.detach(home, client)
        self.cluster.drain(name)

    def _lose(self) -> None:
        if self._can_spare(alive := self._alive()):
            name = self.rng.choice(alive)
            self.faults["lost broker"] = self.faults.get("lost broker", 0) + 1
            for key in [key for key in self.wants if key[0] == name]:
                del self.wants[key]
            self.cluster.lose(name)

    def _change(self) -> None:
        """Some brokers are to change places; any one is the manager. In the midst of it somebody may die."""
        rings = {name: ring for name, ring in self._rings().items() if name in self._alive()}
        if len(rings) < 2:
            return
        names = list(rings)
        movers = self.rng.sample(names, self.rng.randint(2, len(names)))
        places = [(ring.ring.me, ring.ring.me[0]) for ring in rings.values()]
        ids = dict(zip(movers, [rings[name].ring.me[0] for name in movers[1:] + movers[:1]], strict=True))
        planned = [((ids.get(name, number), name, at), was) for (number, name, at), was in places]
        manager = self.rng.choice(names)
        self.faults["change of places"] = self.faults.get("change of places", 0) + 1
        self.cluster.reshape(manager, rings[manager].ring.counts, planned)
        if self.rng.random() < self.plan.strike:
            victim, after_s = self.rng.choice((manager, self.rng.choice(names))), self.rng.uniform(0, STRIKE_S_MAX)
            if self.aimer.random() < AIMED:
                self.aim = f"places: {self.aimer.choice(POINTS_OF_PLACES)}"
            else:
                self.cluster.kernel.after(after_s, self._strike, victim)

    def _see(self, records: Iterable[Record]) -> None:
        for record in records:
            if self.aim and record.kind is Kind.CHANGE and record.detail == self.aim:
                self.aim = ""
                self.cluster.kernel.after(0.0, self._strike_in_speech, record.node)

    def _strike_in_speech(self, victim: str) -> None:
        """Before all have heard what it has just said."""
        for other in [name for name in self.cluster.nodes if name != victim and self.aimer.random() < 0.5]:
            self.cluster.network.cut(victim, other)
            self.cluster.kernel.after(STRIKE_S_MAX, self.cluster.network.heal, (victim, other))
        self._strike(victim)

    def _strike(self, victim: str) -> None:
        if not self.quiet and self.cluster.is_alive(victim):
            self.cluster.crash(victim)
            self.faults["crash"] = self.faults.get("crash", 0) + 1
            self.cluster.kernel.after(self.rng.uniform(0.05, STRIKE_S_MAX), self._rise, victim)

    def _rise(self, victim: str) -> None:
        if not self.cluster.is_alive(victim):
            self.cluster.start(victim)

    # --- clients

    def _bring_clients(self) -> None:
        """Clients come (back) to brokers that have begun a new life; one that was leaving leaves again."""
        for broker, node in self.cluster.nodes.items():
            if node.broker is None or node.paused or self.lives.get(broker) == node.incarnation:
                continue
            self.lives[broker] = node.incarnation
            for (home, client), patterns in list(self.wants.items()):
                if home == broker:
                    self.cluster.attach(broker, client, patterns)
            if broker in self.leaving:
                self.cluster.drain(broker)

    def _someone(self) -> tuple[str, str] | None:
        here = self._served()
        return self.rng.choice(here) if here else None

    def _served(self) -> list[tuple[str, str]]:
        return [key for key in self.wants if self._serves(key[0]) and self.cluster.clients.is_served(*key)]

    def _serves(self, name: str) -> bool:
        node = self.cluster.nodes[name]
        return node.broker is not None and not node.paused and self.lives.get(name) == node.incarnation

    def _send_away(self) -> None:
        """Some client's session is to go to some other broker."""
        if not (served := self._served()):
            return
        home, client = self.walker.choice(served)
        others = [ring.ring.me for name, ring in self._rings().items() if name != home]
        if others:
            self.faults["move of a session"] = self.faults.get("move of a session", 0) + 1
            self.cluster.give(home, Relocate(client, self.walker.choice(others)))

    def _moved(self, client: str, old: str, new: str) -> None:
        """A client was sent elsewhere. If its session is not there (any more), it says anew what it wants."""
        if (wants := self.wants.pop((old, client), None)) is None:
            return
        if self.cluster.nodes[new].lost or self.cluster.nodes[new].gone:
            return
        self.wants[new, client] = wants
        if self._serves(new) and not self.cluster.clients.has_session(new, client):
            self.cluster.attach(new, client, wants)

    def _ousted(self, client: str, here: str) -> None:
        """Of two sessions of this client the other has won: it goes on with that one, if it is there."""
        broker = self.cluster.nodes[here].broker
        home = broker.homes.elsewhere(client) if broker is not None else None
        if (here, client) not in self.wants:
            return
        there = home.broker if home is not None else here
        wants = self.wants[there, client] = self.wants.pop((here, client))
        new = self.cluster.nodes[there].broker
        if new is not None and self.cluster.clients.has_session(there, client):
            self.cluster.clients.come_back(there, client)
            held = new.routing.table.of(client_hop(client))
            self.cluster.subscribe(there, client, *(each for each in wants if each not in held))
            self.cluster.unsubscribe(there, client, *(each for each in held if each not in wants))
        elif new is not None:
            self.cluster.attach(there, client, wants)
        else:
            self.cluster.clients.wait_at(there, client)

    def _publish(self) -> None:
        if (someone := self._someone()) is not None:
            events = [self.world.event() for _ in range(self.rng.choice((1, 1, 1, 3)))]
            self.cluster.publish(*someone, *events)

    def _return(self, home: str, client: str) -> None:
        """A client comes back as a new one; a broker that is about to leave sends it on."""
        if heir := self.cluster.nodes[home].heir:
            self._moved(client, home, heir)
        else:
            self.cluster.attach(home, client, self.wants[home, client])

    def _churn(self) -> None:
        if (someone := self._someone()) is None:
            return
        wants, pattern = self.wants[someone], self.world.pattern()
        if pattern in wants and self.rng.random() < 0.8:
            del wants[pattern]
            self.cluster.unsubscribe(*someone, pattern)
        elif self.rng.random() < 0.1:
            self.cluster.detach(*someone)
            self._return(*someone)
        else:
            wants[pattern] = None
            self.cluster.subscribe(*someone, pattern)


def judge_circle(records: list[Record], tally: Tally) -> list[Violation]:
    return [
        *check_delivery_on_ring(records, tally),
        *check_order_by_topic(records),
        *check_trees(records),
        *check_bounds(records),
        *check_sessions(records),
        *check_placing(records, STAY_S),
    ]


def run_circle(plan: CirclePlan) -> CircleOutcome:
    circle = _Circle(plan)
    records = circle.cluster.records
    try:
        problems = circle.run()
    except Runaway as error:
        problems = [Violation("liveness", circle.cluster.kernel.now, str(error))]
    except Exception as error:  # whatever it is that breaks a broker: it is what went wrong, and ends no other schedule
        found = [failure(error, circle.cluster.kernel.now)]
        return CircleOutcome(plan, found, Tally(), records, circle.faults)
    tally = Tally()
    found = [*problems, *judge_circle(records, tally), *check_wishes(records, circle.wants)]
    return CircleOutcome(plan, found, tally, records, circle.faults)


def run_circle_seed(seed: int) -> CircleOutcome:
    return run_circle(draw_circle(seed))
