"""Trials of replacing links: random trees, random paths, clients that come and go meanwhile; and what must hold.

After each change every table equals the ideal one; a broker off the path has no entry touched, but for what clients
have asked for meanwhile; and, where they ask for nothing, ``path`` says no word about a pattern on its head.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from reknit.core.broker import BrokerOptions
from reknit.core.overlay.change import make_change
from reknit.core.overlay.options import ChangeOptions
from reknit.core.overlay.shapes import Edge, adjacency, find_path, names, shape_edges
from reknit.core.routing.ideal import Tables, ideal_tables
from reknit.model.pattern import Pattern
from reknit.sim.checkers.tree import Forest, check_tree
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind
from reknit.wire.messages import Change, Sub, Unsub
from tests.sim.heard import Heard, differences, quiet_links, tables_of

__all__ = ["STRATEGIES", "Trial", "Trials", "apply", "draw_change", "run_trial"]

STRATEGIES = ("strawman", "deferred", "path", "path-batched")
REPLACED_AFTER_S = 0.1
SETTLE_S_MAX = 60.0
DEAD_S_MAX = 3.0
SURVIVE_S_MAX = 120.0


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trial consists of; the seed decides the rest."""

    strategy: str
    brokers_max: int = 40
    changes: int = 4
    churn: int = 12
    """How often clients change their minds during each change."""
    planned: bool = False
    at_once: int = 1
    """Changes with disjoint paths that run at the same time."""
    notified: bool = False
    covering: bool = False
    patterns: int = 8
    density: float = 0.4
    """The share of brokers with a subscriber."""
    crashes: int = 0
    """Brokers, mostly of the path, that die during each change, and come back."""


class Trials:
    """A network in which links are replaced."""

    def __init__(self, trial: Trial, seed: int) -> None:
        self.trial, self.seed = trial, seed
        self.wants: dict[str, dict[Pattern, None]] = {}  # by broker
        self.churned: dict[Pattern, None] = {}
        self.rng = random.Random(f"{self.seed}/trial")
        members = names(self.rng.randint(3, self.trial.brokers_max))
        self.edges = shape_edges(self.rng.choice(("random", "line", "bushy", "random")), members, self.rng)
        self.world = [_pattern(number, self.trial.covering) for number in range(self.trial.patterns)]
        changes = ChangeOptions(defer_s=0.5, notified=self.trial.notified)
        options = BrokerOptions(
            covering=self.trial.covering, observe=True, founded=True, links=quiet_links(), changes=changes
        )
        network = NetworkOptions(latency_s_min=0.001, latency_s_max=self.rng.choice((0.002, 0.02, 0.05)))
        self.cluster = Heard(self.edges, options, network, str(self.seed))
        self.cluster.start_all()
        for name in members:
            few = self.rng.randint(1, 3) if self.rng.random() < self.trial.density else 0
            self.wants[name] = dict.fromkeys(self.rng.sample(self.world, min(few, len(self.world))))
            self.cluster.attach(name, f"at {name}", self.wants[name])
        assert self.cluster.settle(SETTLE_S_MAX), self.cluster.restlessness()

    # --- what happens

    def run(self) -> list[str]:
        problems: list[str] = []
        for number in range(self.trial.changes):
            changes = self._draw(number)
            if not changes:
                break
            problems += self.change(changes)
            if problems:
                break
        return problems

    def _draw(self, number: int) -> list[Change]:
        """As many disjoint ones as are wanted, and found in a few attempts."""
        found: list[Change] = []
        for attempt in range(8 * self.trial.at_once):
            if len(found) < self.trial.at_once:
                change = draw_change(self.edges, f"{number}.{attempt}", self.trial.strategy, self.rng)
                if change is not None and not any(set(change.path) & set(other.path) for other in found):
                    found.append(change)
        return found

    def change(self, changes: list[Change]) -> list[str]:
        self.cluster.said.clear()
        self.churned.clear()
        before = len(self.cluster.records)
        kernel = self.cluster.kernel
        for _ in range(self.trial.churn):
            kernel.after(self.rng.uniform(0, 3 * REPLACED_AFTER_S), self._churn)
        requests = [self._start(change) for change in changes]
        for _ in range(self.trial.crashes):
            kernel.after(self.rng.uniform(0, 3 * REPLACED_AFTER_S), self._crash, changes)
        if self.trial.crashes:
            return self._survive(changes)
        kernel.run(until=kernel.now + 3 * REPLACED_AFTER_S)
        problems = [] if self.cluster.settle(SETTLE_S_MAX) else [f"not at rest: {self.cluster.restlessness()}"]
        problems += [f"refused: {self.cluster.replies.get(each)}" for each in requests if self._refused(each)]
        for change in changes:
            self.edges = apply(self.edges, change)
        problems += differences(tables_of(self.cluster), self.ideal())
        problems += self._touched(changes, before)
        problems += self._talk_on_heads(changes)
        problems += map(str, check_tree(self.cluster.records))
        return [f"seed {self.seed}, {[each.path for each in changes]}: {problem}" for problem in problems]

    def _survive(self, changes: list[Change]) -> list[str]:
        """Whatever has become of the change: one tree is left, there never was a cycle, and the tables are ideal."""
        kernel = self.cluster.kernel
        kernel.run(until=kernel.now + 3 * REPLACED_AFTER_S + DEAD_S_MAX)
        problems = [] if self.cluster.settle(SURVIVE_S_MAX) else [f"not at rest: {self.cluster.restlessness()}"]
        forest = Forest()
        for record in self.cluster.records:
            forest.see(record)
        self.edges = forest.edges()
        apart = [name for name in self.wants if not find_path(self.edges, changes[0].path[0], name)]
        problems += [f"split: {apart}"] if apart else []
        problems += map(str, check_tree(self.cluster.records))
        problems += [] if problems else differences(tables_of(self.cluster), self.ideal())
        return [f"seed {self.seed}, {[each.path for each in changes]}: {problem}" for problem in problems]

    def _crash(self, changes: list[Change]) -> None:
        path = self.rng.choice(changes).path
        name = self.rng.choice(path) if self.rng.random() < 0.9 else self.rng.choice(list(self.wants))
        if self.cluster.is_alive(name):
            self.cluster.crash(name)
            self.cluster.kernel.after(self.rng.uniform(0.01, DEAD_S_MAX), self._restart, name)

    def _restart(self, name: str) -> None:
        self.cluster.start(name)
        self.cluster.attach(name, f"at {name}", self.wants[name])

    def _start(self, change: Change) -> int:
        kernel = self.cluster.kernel
        if self.trial.planned:
            return self.cluster.replace_link(
                change.strategy, change.path[: change.near + 1], change.path[change.near + 1 :]
            )
        self.cluster.vanish(change)
        kernel.after(REPLACED_AFTER_S, self.cluster.appear, change)
        if change.strategy.startswith("path"):
            kernel.after(REPLACED_AFTER_S, self.cluster.substitute, change)
        return 0

    def _refused(self, request: int) -> bool:
        return request != 0 and self.cluster.replies.get(request) != ""

    def _churn(self) -> None:
        name, pattern = self.rng.choice(list(self.wants)), self.rng.choice(self.world)
        self.churned[pattern] = None
        if not self.cluster.is_alive(name):
            return
        if pattern in self.wants[name]:
            del self.wants[name][pattern]
            self.cluster.unsubscribe(name, f"at {name}", pattern)
        else:
            self.wants[name][pattern] = None
            self.cluster.subscribe(name, f"at {name}", pattern)

    # --- what must hold

    def ideal(self) -> Tables:
        return ideal_tables(self.edges, self.wants, "subscription-forwarding", self.trial.covering)

    def _touched(self, changes: list[Change], since: int) -> Iterator[str]:
        if not self.trial.strategy.startswith("path"):
            return
        on_path = {name for change in changes for name in change.path}
        for record in self.cluster.records[since:]:
            routed = record.kind in (Kind.ROUTE_ADDED, Kind.ROUTE_REMOVED) and record.pattern not in self.churned
            if routed and record.node not in on_path:
                yield f"{record.node} is off the path, and has {record.kind} ({record.peer}, {record.pattern})"

    def _talk_on_heads(self, changes: list[Change]) -> Iterator[str]:
        if not self.trial.strategy.startswith("path"):
            return
        hops = {hop for each in changes for hop in pairwise(each.path[: each.near + 1])}
        for sender, receiver, message in self.cluster.said:
            if not isinstance(message, Sub | Unsub) or not {(sender, receiver), (receiver, sender)} & hops:
                continue
            if any(pattern not in self.churned for pattern in message.patterns):
                yield f"{sender} says to {receiver}, on the head: {message}"


def _pattern(number: int, covering: bool) -> Pattern:
    if covering and number % 2:
        return Pattern.parse("a/#" if number % 4 == 1 else f"a/p{number}/#", "" if number < 4 else f"x > {number}")
    return Pattern.parse(f"a/p{number}")


def draw_change(edges: list[Edge], id_: str, strategy: str, rng: random.Random) -> Change | None:
    """Any link goes, and any other comes that makes a tree of the rest; often with an empty head or tail."""
    first, last = rng.choice(edges)
    if rng.random() < 0.5:
        first, last = last, first
    rest = [edge for edge in edges if set(edge) != {first, last}]
    sides = [[name for name in adjacency(edges) if name == end or find_path(rest, end, name)] for end in (first, last)]
    near = first if rng.random() < 0.2 else rng.choice(sides[0])
    far = last if rng.random() < 0.2 else rng.choice(sides[1])
    if (near, far) == (first, last):
        return None
    return make_change(id_, strategy, _way(rest, first, near), _way(rest, far, last))


def _way(edges: list[Edge], start: str, goal: str) -> list[str]:
    return [start] if start == goal else find_path(edges, start, goal)


def apply(edges: Iterable[Edge], change: Change) -> list[Edge]:
    rest = [edge for edge in edges if set(edge) != {change.path[0], change.path[-1]}]
    return [*rest, (change.path[change.near], change.path[change.near + 1])]


def run_trial(trial: Trial, seed: int) -> list[str]:
    return Trials(trial, seed).run()
