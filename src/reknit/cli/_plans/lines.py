"""A plan of each kind, as lines for people.

Owns: the words. Must not know: where a plan is from, or how it is carried out.
"""

from __future__ import annotations

from collections.abc import Iterator

from reknit.planning.files import AnyPlan
from reknit.planning.placement_plan import PlacementPlan
from reknit.planning.plan import Plan
from reknit.planning.ring_plan import RingPlan

__all__ = ["lines_of"]

SHOWN_MAX = 50
"""Moves of clients that are shown one by one."""


def lines_of(plan: AnyPlan) -> Iterator[str]:
    match plan:
        case Plan():
            yield from _tree(plan)
        case RingPlan():
            yield from _ring(plan)
        case PlacementPlan():
            yield from _placement(plan)


def _less(before: float, after: float) -> str:
    return f"{1 - after / before:.0%} less" if before else "as before"


def _tree(plan: Plan) -> Iterator[str]:
    seen, rules = plan.evidence, plan.rules
    yield f"{seen.events:,} events in {seen.seconds:,.1f} s; they crossed links {plan.cost_before:,} times"
    for step in plan.steps:
        price = f"takes {step.messages:,} messages, {step.bytes:,} bytes"
        yield f"  swap {step.mover} {step.middle} {step.goal}  saves {step.gain:,}, leaves {step.cost_after:,}; {price}"
    if plan.steps:
        saved = f"{plan.cost_after:,} crossings, {_less(plan.cost_before, plan.cost_after)}"
        yield f"{len(plan.steps)} swaps: {saved}, for {plan.messages:,} messages of {plan.bytes:,} bytes"
        yield f"touches {', '.join(plan.brokers)}"
        yield f"disruption: brokers are locked {plan.locked} times, three for each swap; events wait for none of them"
    else:
        yield "no swap is worth what it takes"
    yield f"horizon {rules.horizon:g} times the time watched, at most {rules.degree_max} neighbours, seed {rules.seed}"
    yield f"prices by {rules.routing}, {seen.subscriptions:,} subscriptions, {seen.event_bytes:,} bytes an event"
    if plan.steps:
        for title, links in (("before", plan.before), ("after", plan.after)):
            yield f"{title}: {', '.join(' - '.join(link) for link in links)}"


def _ring(plan: RingPlan) -> Iterator[str]:
    seen, rules = plan.evidence, plan.rules
    yield f"{seen.events:,.0f} events of {seen.topics:,} topics in {seen.seconds:,.1f} s; " + (
        f"notifying {len(plan.before)} brokers costs {plan.cost_before:,.0f}"
    )
    for step in plan.steps:
        saved = f"saves {step.gain:,.0f}, leaves {step.cost_after:,.0f}"
        yield f"  places {' '.join(step.brokers)}  {saved}; takes {step.messages:,} messages by Equation 7"
    if plan.steps:
        saved = f"{plan.cost_after:,.0f}, {_less(plan.cost_before, plan.cost_after)}"
        yield f"{len(plan.steps)} changes of places: {saved}, for {plan.messages:,} messages by Equation 7"
        yield f"moves {', '.join(plan.brokers)}; all others take part"
        yield (
            f"disruption: {plan.locked} times a broker is in a change, {plan.roots:,} topics come to another root; "
            + ("events wait for none of them")
        )
    else:
        yield "no change of places is worth what it takes"
    yield f"horizon {rules.horizon:g} times the time watched, a hop of delay counts {rules.delay_weight:g} messages"
    yield f"search {rules.search}, {rules.trials:,} trials, seed {rules.seed}"
    if plan.steps:
        for title, ids in (("before", plan.before), ("after", plan.after)):
            in_order = sorted(ids, key=lambda name: ids[name])
            yield f"{title}: {', '.join(in_order)}"


def _placement(plan: PlacementPlan) -> Iterator[str]:
    seen, rules = plan.evidence, plan.rules
    yield f"{seen.clients:,} clients with {seen.subscriptions:,} subscriptions; their {len(plan.at)} brokers " + (
        f"subscribe to {plan.cost_before:,} topics in all"
    )
    for move in plan.steps[:SHOWN_MAX]:
        yield f"  {move.client}  from {move.start} to {move.goal}"
    if left := plan.moves - len(plan.steps[:SHOWN_MAX]):
        where = "the plan (--json)" if plan.steps else "the table moves, which was made with the plan"
        yield f"  ... and {left:,} more, all in {where}"
    for each in plan.at:
        clients = f"{each.clients_before:,} clients become {each.clients_after:,}"
        yield f"{each.broker}: {clients}, {each.topics_before:,} topics {each.topics_after:,}"
    if plan.moves:
        saved = f"{plan.cost_after:,} topics, {_less(plan.cost_before, plan.cost_after)}"
        yield f"{plan.moves:,} moves: {saved}, for {plan.messages:,} messages at least"
        yield f"disruption: {plan.reconnects:,} clients connect elsewhere, once each"
    else:
        yield "everybody is where others want the same"
    yield f"load counts {rules.load_weight:g}, {rules.similarity}, clusters {rules.clusters}, " + (
        f"gain above {rules.gain_min:g}, rounds {rules.rounds}, seed {rules.seed}"
    )
