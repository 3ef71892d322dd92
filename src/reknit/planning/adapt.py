"""When to change a tree by itself, window after window, and when to leave it alone.

Owns: the decision, and what it remembers. Must not know: how long a window is, where its numbers come from, or how a
change is made.

At the end of each window there is what events concerned. From that a plan is made, for what the next period is expected
to carry (Eq. 8 of DYNATOPS: an exponential filter). It is carried out one window later, and only if it is still worth
while for what *that* window has carried: so a change rests on two windows running. Worth while means that what it
saves until the next change is possible is more than the messages that it takes, and a part of all that is not noise.

After a change there is a rest. And a link that was given up is not taken up again for a long time, so that a workload
that swings can neither make the tree swing with it, nor cost more than one change in each rest. Where traffic is
steady, each change lowers the cost, so changes end (reference, section 7.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import msgspec

from reknit.planning.gains import Flow, cost
from reknit.planning.plan import Evidence, Plan, Rules, make_plan, pays
from reknit.planning.price import Price, Wanted
from reknit.planning.rates import ALPHA, expected_next
from reknit.planning.tree import Link, Tree

__all__ = ["Adapter", "BadMemory", "Decision", "Patience"]


class Patience(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How hard it is to make it change something."""

    share_min: float = 0.1
    """Of all crossings, what a plan has to save in each of the two windows."""
    rest: int = 3
    """Windows without a change after one."""
    memory: int = 100
    """Windows for which a link that was given up is not taken up again."""
    events_min: int = 30
    """In a window with fewer nothing is decided."""
    steps_max: int = 10
    """Swaps in one change."""
    alpha: float = ALPHA


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do at the end of a window, and why. ``plan`` is to be carried out now, if there is one."""

    why: str
    plan: Plan | None = None


class BadMemory(ValueError):
    """A file that no adapter has written."""

    exit_code = 2


class _Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    window: int
    expected: list[tuple[list[str], float]]
    pending: Plan | None
    changed: int | None
    given_up: list[tuple[Link, int]]


@dataclass(slots=True)
class Adapter:
    rules: Rules = field(default_factory=Rules)
    patience: Patience = field(default_factory=Patience)
    window: int = 0
    expected: dict[tuple[str, ...], float] = field(default_factory=dict)
    pending: Plan | None = None
    changed: int | None = None
    """The window at whose end the last change was made."""
    given_up: dict[Link, int] = field(default_factory=dict)
    """By link: the window at whose end it was given up."""

    def written(self) -> bytes:
        """All that it remembers, for the next process."""
        return msgspec.json.encode(
            _Memory(
                self.window,
                [(list(brokers), events) for brokers, events in self.expected.items()],
                self.pending,
                self.changed,
                list(self.given_up.items()),
            )
        )

    def recall(self, data: bytes) -> None:
        """Go on where another process was; ``BadMemory`` if this is none."""
        try:
            memory = msgspec.json.decode(data, type=_Memory)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadMemory(f"not written by an adapter: {error}") from error
        self.window, self.pending, self.changed = memory.window, memory.pending, memory.changed
        self.expected = {tuple(brokers): events for brokers, events in memory.expected}
        self.given_up = dict(memory.given_up)

    def miss(self) -> None:
        """A window of which nothing is known: what was pending would not rest on two windows running any more."""
        self.window += 1
        self.pending = None

    def see(
        self,
        links: Sequence[Link],
        flows: Sequence[Flow],
        evidence: Evidence,
        wanted: Wanted = MappingProxyType({}),
    ) -> Decision:
        """At the end of a window: the tree as it is, what events concerned, and what brokers' clients want."""
        self.window += 1
        pending, self.pending = self.pending, None
        if sum(flow.events for flow in flows) < self.patience.events_min:
            return Decision(f"too few events to decide anything: fewer than {self.patience.events_min}")
        self._expect(flows)
        if (left := self._rest_left()) > 0:
            return Decision(f"at rest after a change, for {left} more windows")
        tree = Tree(links)
        if pending is not None and tree.links == Tree(pending.before).links:
            saved = cost(tree, flows) - cost(Tree(pending.after), flows)
            if self._worth(saved, cost(tree, flows), pending):
                self._remember(pending)
                return Decision(f"worth while in two windows running: {saved:,} crossings saved", pending)
        return self._consider(tree, evidence, wanted)

    def _consider(self, tree: Tree, evidence: Evidence, wanted: Wanted) -> Decision:
        plan = self._plan(tree, evidence, wanted)
        if not plan.steps or not self._worth(plan.cost_before - plan.cost_after, plan.cost_before, plan):
            return Decision("nothing is worth what it takes")
        self.pending = plan
        return Decision("a plan is worth while; will it be in the next window, too?")

    def _plan(self, tree: Tree, evidence: Evidence, wanted: Wanted) -> Plan:
        flows = [Flow(brokers, round(events)) for brokers, events in sorted(self.expected.items()) if round(events)]
        rules = msgspec.structs.replace(
            self.rules, horizon=float(self._free), steps_max=min(self.rules.steps_max, self.patience.steps_max)
        )
        return make_plan(tree.links, flows, evidence, rules, self._avoided(), wanted)

    @property
    def _free(self) -> int:
        """Windows for which a change lasts at least."""
        return self.patience.rest + 1

    def _worth(self, saved: int, before: int, plan: Plan) -> bool:
        price = Price(plan.messages, plan.bytes)
        return pays(saved * self._free, price, plan.evidence.event_bytes) and saved >= self.patience.share_min * before

    def _expect(self, flows: Sequence[Flow]) -> None:
        """Eq. 8 for each set of brokers; what was never seen begins with its first observation if all does."""
        seen = {flow.brokers: flow.events for flow in flows}
        if not self.expected:
            self.expected = {brokers: float(events) for brokers, events in seen.items()}
            return
        alpha = self.patience.alpha
        known = dict.fromkeys([*self.expected, *seen])
        blended = {
            brokers: expected_next(self.expected.get(brokers, 0.0), seen.get(brokers, 0), alpha) for brokers in known
        }
        self.expected = {brokers: events for brokers, events in blended.items() if events >= 0.5}

    def _rest_left(self) -> int:
        return 0 if self.changed is None else self.changed + self.patience.rest + 1 - self.window

    def _avoided(self) -> frozenset[Link]:
        return frozenset(link for link, when in self.given_up.items() if self.window - when <= self.patience.memory)

    def _remember(self, plan: Plan) -> None:
        self.changed = self.window
        gone = [link for link in Tree(plan.before).links if link not in Tree(plan.after).links]
        self.given_up |= dict.fromkeys(gone, self.window)
