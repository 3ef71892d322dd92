"""A plan: swaps in their order, what they are expected to bring, and the evidence; the same bytes for the same input.

Owns: the search for swaps that are worth more than they cost, and the plan's file. Must not know: where the numbers are
from, or who carries a plan out.

Each swap that is taken lowers the cost by exactly its gain, so the search ends. A swap is worth while if what it saves
over the horizon (so many times the time that was watched) is more than the messages that it takes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from reknit.planning.gains import Flow, Gains, cost
from reknit.planning.tree import Link, Swap, Tree, link, swapped

__all__ = ["BadPlan", "Evidence", "Plan", "Rules", "Step", "make_plan", "read_plan", "write_plan"]

VERSION = 1
SWAP_MESSAGES = 12
"""That the three brokers of a swap send each other if nothing fails (the chart of section 8.3 of the reference)."""


class BadPlan(ValueError):
    """A file that is no plan."""

    exit_code = 2


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a swap is worth while."""

    horizon: float = 1.0
    """How many times the time that was watched a change has to last to pay."""
    degree_max: int = 6
    """Neighbours of a broker, after a swap."""
    steps_max: int = 100
    swap_messages: int = SWAP_MESSAGES
    seed: int = 0
    """Kept with the plan. Nothing here is drawn: of equal swaps the first by name is taken."""


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the plan was made from."""

    events: int
    """That crossed a link, or could have."""
    flows: int
    """Different sets of brokers that events involved."""
    seconds: float
    """That were watched."""
    runs: list[str] = []


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mover: str
    middle: str
    goal: str
    gain: int
    """Crossings of links that it saves, over the time that was watched."""
    cost_after: int


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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
) -> Plan:
    """The best swap first, again and again, as long as one is worth while. ``avoid``: links that no swap may make."""
    tree = before = Tree(links)
    in_order = sorted(flows, key=lambda flow: flow.brokers)
    now = at_first = cost(before, in_order)
    steps: list[Step] = []
    while len(steps) < rules.steps_max and (found := _best(tree, in_order, rules, avoid)) is not None:
        swap, gain = found
        tree, now = swapped(tree, swap), now - gain
        steps.append(Step(*swap, gain, now))
    brokers = sorted({name: None for step in steps for name in (step.mover, step.middle, step.goal)})
    price, locked = rules.swap_messages * len(steps), 3 * len(steps)
    shapes = (list(before.links), list(tree.links))
    return Plan(VERSION, *shapes, steps, brokers, at_first, now, price, locked, rules, evidence)


def _best(tree: Tree, flows: Sequence[Flow], rules: Rules, avoid: frozenset[Link]) -> tuple[Swap, int] | None:
    for swap, gain in Gains(tree, flows).all():
        if gain * rules.horizon <= rules.swap_messages:
            return None  # and no other is better
        if len(tree.neighbours[swap.goal]) < rules.degree_max and link(swap.mover, swap.goal) not in avoid:
            return swap, gain
    return None


def write_plan(plan: Plan) -> bytes:
    """The same plan gives the same bytes."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n"


def read_plan(data: bytes) -> Plan:
    try:
        plan = msgspec.json.decode(data, type=Plan)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadPlan(f"no plan: {error}") from error
    if plan.version != VERSION:
        raise BadPlan(f"a plan of version {plan.version}; this reknit reads {VERSION}")
    return plan
