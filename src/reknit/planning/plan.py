"""A plan of the tree: swaps in their order, what they are expected to bring and to take, and the evidence.

Owns: the search for swaps that are worth more than they cost. Must not know: where the numbers are from, how a plan is
kept (``files``), or who carries it out.

Each swap that is taken lowers the cost by exactly its gain, so the search ends. A swap is worth while if what it saves
over the horizon (so many times the time that was watched) is more than what it takes (``price``): in messages, and in
bytes where it is known how large events are (reference, section 7.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import msgspec

from reknit.planning.gains import Flow, Gains, cost
from reknit.planning.price import SWAP_MESSAGES, Price, Prices, Wanted
from reknit.planning.tree import Link, Swap, Tree, link, swapped

__all__ = ["VERSION", "Evidence", "Plan", "Rules", "Step", "make_plan", "pays", "trees_of"]

VERSION = 2
"""Of plans' files, of all kinds."""


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a swap is worth while."""

    horizon: float = 1.0
    """How many times the time that was watched a change has to last to pay."""
    degree_max: int = 6
    """Neighbours of a broker, after a swap."""
    steps_max: int = 100
    routing: str = "subscription-forwarding"
    """Of the brokers: it says which tables travel in a swap."""
    covering: bool = False
    seed: int = 0
    """Kept with the plan. Nothing here is drawn: of equal swaps the first by name is taken."""


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the plan was made from. Not where that lay: the same trace gives the same plan, wherever it is."""

    events: int
    """That crossed a link, or could have."""
    flows: int
    """Different sets of brokers that events involved."""
    seconds: float
    """That were watched."""
    since: float = 0.0
    """When the first of them was published, in the trace's seconds."""
    event_bytes: int = 0
    """Of an event that crosses a link, on the average, as links count them; 0 where that is not known."""
    subscriptions: int = 0
    """Different ones of all brokers, which is what the price of a swap rests on."""


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mover: str
    middle: str
    goal: str
    gain: int
    """Crossings of links that it saves, over the time that was watched."""
    cost_after: int
    messages: int
    """That it takes."""
    bytes: int


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="tree"):
    version: int
    before: list[Link]
    after: list[Link]
    steps: list[Step]
    brokers: list[str]
    """That take part in some step."""
    cost_before: int
    """Crossings of links, over the time that was watched."""
    cost_after: int
    messages: int
    """That the steps take: the price."""
    bytes: int
    locked: int
    """Times that a broker cannot take part in another change: three for each step. Events wait for none of them."""
    rules: Rules
    evidence: Evidence


def make_plan(
    links: Sequence[Link],
    flows: Sequence[Flow],
    evidence: Evidence,
    rules: Rules,
    avoid: frozenset[Link] = frozenset(),
    wanted: Wanted = MappingProxyType({}),
) -> Plan:
    """The best swap first, again and again, as long as one is worth while.

    ``avoid``: links that no swap may make. ``wanted``: by broker, what its clients want.
    """
    tree = before = Tree(links)
    in_order = sorted(flows, key=lambda flow: flow.brokers)
    now = at_first = cost(before, in_order)
    evidence = msgspec.structs.replace(evidence, subscriptions=sum(len(each) for each in wanted.values()))
    search = _Search(in_order, rules, evidence.event_bytes, avoid, wanted)
    steps: list[Step] = []
    while len(steps) < rules.steps_max and (found := search.best(tree)) is not None:
        swap, gain, price = found
        tree, now = swapped(tree, swap), now - gain
        steps.append(Step(*swap, gain, now, price.messages, price.bytes))
    brokers = sorted({name: None for step in steps for name in (step.mover, step.middle, step.goal)})
    taken = (sum(step.messages for step in steps), sum(step.bytes for step in steps))
    shapes = (list(before.links), list(tree.links))
    return Plan(VERSION, *shapes, steps, brokers, at_first, now, *taken, 3 * len(steps), rules, evidence)


@dataclass(frozen=True, slots=True)
class _Search:
    flows: Sequence[Flow]
    rules: Rules
    event_bytes: int
    avoid: frozenset[Link]
    wanted: Wanted

    def best(self, tree: Tree) -> tuple[Swap, int, Price] | None:
        """Of the swaps that are worth while, the one that saves most."""
        rules, prices = self.rules, Prices(tree, self.wanted, self.rules.routing, self.rules.covering)
        for swap, gain in Gains(tree, self.flows).all():
            if gain * rules.horizon <= SWAP_MESSAGES:
                return None  # and no other is better
            if len(tree.neighbours[swap.goal]) >= rules.degree_max or link(swap.mover, swap.goal) in self.avoid:
                continue
            if pays(gain * rules.horizon, price := prices.of(swap), self.event_bytes):
                return swap, gain, price
        return None


def pays(saved: float, price: Price, event_bytes: int) -> bool:
    """Whether so many crossings of links are more than what they are paid for with."""
    return saved > price.messages and (not event_bytes or saved * event_bytes > price.bytes)


def trees_of(plan: Plan) -> list[tuple[Link, ...]]:
    """The links before the first step, after it, and so on to those at the end."""
    found = [Tree(plan.before)]
    for step in plan.steps:
        found.append(swapped(found[-1], Swap(step.mover, step.middle, step.goal)))
    return [tree.links for tree in found]
