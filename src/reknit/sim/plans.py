"""What a schedule is drawn from: a seed decides everything before the run.

Owns: what can be drawn, and how often. Must not know: how a schedule is run.
"""

from __future__ import annotations

import random
from typing import Literal, TypeAlias

import msgspec

from reknit.core.homes.options import HomeOptions
from reknit.core.links.options import LinkKind, LinkOptions
from reknit.core.options import BrokerOptions
from reknit.core.overlay.options import ChangeOptions, OverlayOptions, RepairOptions
from reknit.core.overlay.shapes import names
from reknit.core.recovery.options import RecoveryName, RecoveryOptions
from reknit.core.recovery.policies import PolicyName
from reknit.core.routing.strategies import RoutingName
from reknit.sim.faults import FaultOptions
from reknit.sim.network import NetworkOptions

__all__ = ["FOCI", "TARGETED_S", "Focus", "Plan", "aimed", "broker_options", "draw", "is_wired", "own_options", "still"]

Focus: TypeAlias = Literal["all", "changes", "crashes", "stores", "groups", "homes", "loss"]
"""What a campaign looks at: whatever is drawn; changes of all kinds at once; the same, and brokers that crash; brokers
with stores that crash; whatever is drawn, with clients that share subscriptions, or with clients that go from broker
to broker; or links that lose events, and their recovery."""
FOCI: tuple[Focus, ...] = ("all", "changes", "crashes", "stores", "groups", "homes", "loss")


ABSENT_S_MAX = (30.0, 30.0, 30.0, 3.0, 1.0)
"""For how long a swap waits for a broker that is away: mostly for longer than a fault lasts, in some schedules not."""


AIMS = 2
AIMED_S = 6.0
TARGETS = 1
TARGETED_S = 8.0
"""Such rounds are few and short, and come last, so that what a seed draws before is what it always was."""


NAMES_MAX = 64
"""Brokers of one schedule have smaller numbers."""


class Plan(msgspec.Struct, frozen=True):
    """Everything that a seed decides before the run."""

    seed: int
    shape: str
    brokers: int
    routing: RoutingName
    covering: bool
    network: NetworkOptions
    faults: FaultOptions
    rounds: int
    round_s: float
    clients_per_broker: int
    content: float
    publish_per_s: float
    churn_per_s: float
    links_per_s: float
    swaps_per_s: float
    reaction: float
    newcomers: int
    """Brokers that are added in each round."""
    drains: int
    """Brokers that are drained in each round, if they are leaves then."""
    replaces_per_s: float
    lost_s: float
    """A neighbour that is out of reach for so long is given up, and the tree repaired; 0 for never."""
    lasting: bool
    """Whether brokers have stores: then sessions outlive them, and every event has to."""
    groups: int
    """Groups that share patterns."""
    hops_per_s: float
    """Clients that come to another broker than the one that has their session."""
    founded: bool
    """Whether the first links are taken as checked, or each is joined by a search."""
    absent_s_max: float
    recovery: RecoveryName = "none"
    """Unless none, links lose events, and this brings them back."""
    cache: PolicyName = "strangers-first"
    mixed: bool = False
    """Whether some links are streams, where others lose events."""
    order_s: float = 0.0
    """How long events may wait for earlier ones that were lost, for every other client."""
    aims: int = 0
    """Rounds at the end in which links are replaced, and who takes part meets with a fault at a chosen message."""
    targets: int = 0
    """The same of rounds in which links are swapped, and brokers added and drained."""
    standby: tuple[tuple[str, str], ...] = ()
    """Links that brokers turn to when they have given up a neighbour as lost."""
    notified: bool = False
    """Whether deferred removals are made up for when a flush has come, or after a time only."""

    @property
    def unique(self) -> bool:
        """Whether a client has one session in the whole network, as it is unless an operator wants otherwise."""
        return self.hops_per_s > 0 or (self.lasting and self.drains > 0)


def draw(seed: int, focus: Focus = "all") -> Plan:
    plan = _draw_all(seed)
    if focus == "stores":
        plan = _with_stores(plan)
    elif focus == "groups":
        plan = _with_groups(plan)
    elif focus == "homes":
        plan = _with_homes(plan)
    elif focus == "loss":
        plan = _with_loss(plan)
    elif focus != "all":
        plan = _focused(plan, focus)
    if plan.faults.losses:
        plan = _with_standby(plan)
    # A swap without one that lives may break causal order, which is judged wherever nothing has crashed.
    hasty = plan.faults.crashes and not plan.faults.lost_links
    return plan if hasty else msgspec.structs.replace(plan, absent_s_max=ABSENT_S_MAX[0])


def _with_standby(plan: Plan) -> Plan:
    """The same network; where something is lost for good, half of the schedules have standby links, of any two."""
    rng = random.Random(f"{plan.seed}/standby")
    count = rng.choice((0, 0, 1, 2)) if plan.brokers > 2 else 0
    return msgspec.structs.replace(plan, standby=tuple(_pair(plan.brokers, rng) for _ in range(count)))


def _pair(brokers: int, rng: random.Random) -> tuple[str, str]:
    one, other = rng.sample(names(brokers), 2)
    return one, other


def _with_stores(plan: Plan) -> Plan:
    """The same network, in which brokers crash often, and nothing is lost for good.

    Where links move, not quite as often: if several brokers of a swap and the one that has published die one after the
    other, its events may come again behind later ones of its own that have gone the new way, and are taken for copies.
    """
    rng = random.Random(f"{plan.seed}/stores")
    still = not plan.swaps_per_s and not plan.replaces_per_s
    crashes = rng.choice((4.0, 12.0, 30.0)) if still else 4.0
    span_s_max = plan.faults.span_s_max if still else 0.5
    faults = msgspec.structs.replace(plan.faults, crashes=crashes, losses=0, lost_links=False, span_s_max=span_s_max)
    return msgspec.structs.replace(plan, lasting=True, faults=faults, lost_s=0.0)


def _with_groups(plan: Plan) -> Plan:
    """The same network, with groups whose members come and go; in some schedules brokers have stores, and crash."""
    rng = random.Random(f"{plan.seed}/groups")
    if rng.random() < 0.3:
        plan = _with_stores(plan)
    return msgspec.structs.replace(plan, groups=rng.choice((1, 2)), churn_per_s=max(plan.churn_per_s, 0.5))


def _with_homes(plan: Plan) -> Plan:
    """The same network, with clients that go from broker to broker; in some schedules with stores."""
    rng = random.Random(f"{plan.seed}/homes")
    if rng.random() < 0.3:
        plan = _with_stores(plan)
    return msgspec.structs.replace(plan, hops_per_s=rng.choice((0.5, 2.0)))


def _with_loss(plan: Plan) -> Plan:
    """The same network, on datagrams, in which events are lost and brought back; some with groups or stores.

    Nothing is given up for good.
    """
    rng = random.Random(f"{plan.seed}/loss")
    loss, doubled = rng.choice((0.05, 0.1, 0.3)), rng.choice((0.0, 0.1))
    fixed = rng.choice(("push", "subscriber-pull", "publisher-pull", "combined", "random-pull"))
    cache = rng.choice(("own", "en-route", "strangers-first", "probabilistic"))
    order_s, lasting, groups = rng.choice((0.0, 0.5, 3.0)), rng.random() < 0.2, rng.choice((0, 0, 1, 2))
    if lasting:
        plan = _with_stores(plan)
    return msgspec.structs.replace(
        plan,
        routing="global-table" if plan.routing == "global-table" else "subscription-forwarding",
        covering=False,
        network=msgspec.structs.replace(plan.network, datagrams=True, loss=loss, duplication=doubled),
        faults=msgspec.structs.replace(plan.faults, losses=0, lost_links=False),
        lost_s=0.0,
        groups=groups,
        mixed=rng.random() < 0.3,
        recovery="auto" if rng.random() < 0.5 else fixed,  # what most networks run
        cache=cache,
        order_s=order_s,
    )


def _focused(plan: Plan, focus: Focus) -> Plan:
    """The same network, in which every kind of change happens while events flow and clients come and go."""
    rng = random.Random(f"{plan.seed}/{focus}")
    crashes = rng.choice((4.0, 12.0)) if focus == "crashes" else 0.0
    own = random.Random(f"{plan.seed}/{focus}/aims")
    return msgspec.structs.replace(
        plan,
        brokers=max(plan.brokers, 3),
        faults=msgspec.structs.replace(plan.faults, crashes=crashes, losses=0, lost_links=False),
        lost_s=0.0,
        churn_per_s=rng.choice((0.5, 2.0)),
        swaps_per_s=rng.choice((1.0, 2.0, 6.0)),
        newcomers=rng.choice((0, 1, 2)),
        drains=rng.choice((1, 3)),
        aims=AIMS,
        targets=TARGETS,
        notified=own.random() < 0.5,
    )


def aimed(plan: Plan, span_s: float = AIMED_S) -> Plan:
    """What else happens in a round of aims at the end: clients change their minds, often."""
    return msgspec.structs.replace(
        plan,
        faults=FaultOptions(),
        round_s=span_s,
        churn_per_s=8.0,
        links_per_s=0.0,
        swaps_per_s=0.0,
        replaces_per_s=0.0,
        newcomers=0,
        drains=0,
    )


def still(plan: Plan) -> Plan:
    """What happens in a round without faults or changes."""
    return msgspec.structs.replace(
        plan, faults=FaultOptions(), churn_per_s=0.0, links_per_s=0.0, swaps_per_s=0.0, replaces_per_s=0.0
    )


def _draw_all(seed: int) -> Plan:
    rng = random.Random(f"{seed}/plan")
    routing: RoutingName = rng.choice(
        ("subscription-forwarding", "subscription-forwarding", "subscription-forwarding", "global-table", "flooding")
    )
    datagrams = rng.random() < 0.3
    faulty = rng.random() < 0.8
    plan = Plan(
        seed=seed,
        shape=rng.choice(("line", "star", "random", "bushy")),
        brokers=rng.randint(2, 7),
        routing=routing,
        covering=routing == "subscription-forwarding" and rng.random() < 0.4,
        network=NetworkOptions(
            latency_s_max=rng.choice((0.005, 0.05, 0.3)),
            datagrams=datagrams,
            loss=rng.choice((0.0, 0.05, 0.2)) if datagrams else 0.0,
            duplication=rng.choice((0.0, 0.1)) if datagrams else 0.0,
        ),
        faults=_draw_faults(rng) if faulty else FaultOptions(),
        rounds=rng.randint(1, 2),
        round_s=rng.choice((4.0, 10.0)),
        clients_per_broker=rng.randint(1, 2),
        content=rng.choice((0.0, 0.5, 0.8)),
        publish_per_s=rng.choice((4.0, 12.0)),
        churn_per_s=rng.choice((0.0, 0.5, 2.0)),
        links_per_s=rng.choice((0.0, 0.0, 0.4)),
        reaction=rng.choice((0.0, 0.2)),
        founded=rng.random() < 0.7,
        swaps_per_s=rng.choice((0.0, 2.0, 6.0)),
        newcomers=rng.choice((0, 0, 0, 1, 3)),
        drains=rng.choice((0, 0, 1, 3)),
        replaces_per_s=0.0,
        lost_s=0.0,
        lasting=False,
        groups=0,
        hops_per_s=0.0,
        absent_s_max=0.0,
    )
    return msgspec.structs.replace(_draw_repairs(plan, rng), absent_s_max=rng.choice(ABSENT_S_MAX))


def _draw_repairs(plan: Plan, rng: random.Random) -> Plan:
    """In some schedules links are replaced at once; in others what is lost is lost for good, or taken for it."""
    replaces = rng.choice((0.0, 0.0, 0.0, 1.0))
    if rng.random() > 0.3:
        return msgspec.structs.replace(plan, replaces_per_s=replaces)
    losses = rng.randint(0, 2)
    faults = msgspec.structs.replace(plan.faults, losses=losses, lost_links=rng.random() < 0.4)
    fields = {"replaces_per_s": replaces, "faults": faults, "lost_s": rng.choice((0.5, 2.0, 5.0))}
    if faults.lost_links:  # a drain could take away the only broker by which the ends of a lost link reach each other
        fields["drains"] = 0
    return msgspec.structs.replace(plan, **fields)


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


def is_wired(name: str) -> bool:
    """Whether the links of this broker with others that are wired are streams, where links are mixed."""
    return int(name.lstrip("bn")) % 2 == 0


def own_options(plan: Plan, options: BrokerOptions, name: str) -> BrokerOptions:
    """Those of one broker: its standby links, and, where links are mixed, which are streams."""
    if standby := {each: each for pair in plan.standby if name in pair for each in pair if each != name}:
        options = msgspec.structs.replace(options, repair=msgspec.structs.replace(options.repair, standby=standby))
    if not plan.mixed or not is_wired(name):
        return options
    kinds: dict[str, LinkKind] = {f"{letter}{number}": "stream" for letter in "bn" for number in range(0, NAMES_MAX, 2)}
    return msgspec.structs.replace(options, links=msgspec.structs.replace(options.links, kinds=kinds))


def broker_options(plan: Plan, liveness_s_max: float) -> BrokerOptions:
    """``liveness_s_max``: how long a healed network may take to come to rest."""
    return BrokerOptions(
        routing=plan.routing,
        covering=plan.covering,
        observe=True,
        durable=plan.lasting,
        founded=plan.founded,
        gate_s_max=10 * liveness_s_max,  # no event may be routed without the tables of all neighbours
        links=LinkOptions(
            retransmit_s=4 * plan.network.latency_s_max if plan.network.datagrams else 0.0,
            loose=plan.recovery != "none",
        ),
        overlay=OverlayOptions(absent_s_max=plan.absent_s_max),
        changes=ChangeOptions(notified=plan.notified),
        repair=RepairOptions(lost_s=plan.lost_s),
        recovery=RecoveryOptions(
            algorithm=plan.recovery,
            cache=plan.cache,
            gossip_s=max(0.1, plan.network.latency_s_max),
            again_s=2 * max(0.1, plan.network.latency_s_max),
            again_s_max=4.0,
            lost_s_max=liveness_s_max / 2,
            heartbeats=3,
        ),
        homes=HomeOptions(unique=plan.unique),
    )
