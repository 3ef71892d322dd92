"""Replacements of links in which one that takes part meets with a fault at a chosen message.

Faults that come at any time seldom fall into the few round trips of a replacement. So here the message is chosen first:
then a replacement that has it, and when a broker has handled it, it crashes, is paused, or is cut off from one beside
it on the path.

Owns: which message, and which fault. Must not know: what is right.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from reknit.core.overlay.change import Place, find_change
from reknit.core.overlay.shapes import Edge, adjacency, find_path
from reknit.sim.cluster import Cluster
from reknit.sim.coverage import NOTIFIED, REPLACEMENTS, crash_points
from reknit.sim.plans import Plan
from reknit.trace.records import Kind, Record
from reknit.wire.messages import Change

__all__ = ["Aims", "kinds_for"]

SHOTS_S = (0.3, 1.5, 3.0, 4.5)
"""When it is tried: a replacement may be refused, or come to nothing before the message is sent."""

AWAY_S_MAX = (0.3, 3.0, 15.0)
"""For how long at most the victim is away; a round is over earlier than the longest of these."""

LATE_S = 5.2
"""Who is paused for so long while all are asked answers too late, and the change is given up."""


def kinds_for(plan: Plan) -> list[str]:
    """Which replacements its routing can follow."""
    deferred = NOTIFIED if plan.notified else "deferred"
    if plan.routing != "subscription-forwarding":
        return ["strawman"]
    return [
        kind
        for kind in REPLACEMENTS
        if kind in ("strawman", deferred) or (kind.startswith("path") and not plan.covering)
    ]


class Aims:
    def __init__(self, cluster: Cluster, rng: random.Random, counts: dict[str, int]) -> None:
        """``counts``: what was done, by name; added to."""
        self.cluster = cluster
        self.rng = rng
        self.counts = counts
        self._aim = ""  # what its record says; empty if there is none
        self._back: Callable[[], None] = lambda: None
        self._crashes = False
        self._round = 0

    def schedule(self, plan: Plan, back: Callable[[], None]) -> None:
        """Draw one for the next round. ``back``: is called when a broker has come back from a crash."""
        self._round += 1
        self._back, self._crashes = back, plan.faults.crashes > 0
        kind = self.rng.choice(kinds_for(plan))
        step = self.rng.choice(crash_points(kind))
        strategy = "deferred" if kind == NOTIFIED else kind
        self._aim = f"{strategy}: {step}"
        self.cluster.observed = self._see
        for after_s in SHOTS_S:
            self.cluster.kernel.after(after_s, self._shoot, self._round, strategy, step.partition(" at the ")[2])

    def stop(self) -> None:
        """What has not been hit by now is not hit any more."""
        self._aim, self.cluster.observed = "", None

    def _shoot(self, round_: int, strategy: str, part: str) -> None:
        if self._aim and round_ == self._round:
            change = self._draw(strategy, part)
            if change is not None:
                head, tail = change.path[: change.near + 1], change.path[change.near + 1 :]
                self.cluster.replace_link(strategy, head, tail)

    def _draw(self, strategy: str, part: str) -> Change | None:
        """Any replacement of a link by another; if there are such, one that has this part."""
        nodes = self.cluster.nodes.items()
        links = {name: list(node.broker.links.of) for name, node in nodes if node.broker is not None}
        edges = sorted({(min(one, other), max(one, other)) for one in links for other in links[one] if other in links})
        found = [
            change
            for one, other in edges
            for old in ((one, other), (other, one))
            for new in _instead(edges, old)
            if (change := find_change(edges, strategy, old, new)) is not None
        ]
        fitting = [each for each in found if any(Place(each, at).part == part for at in range(len(each.path)))]
        some = fitting or found
        return self.rng.choice(some) if some else None

    # --- what happens to the victim

    def _see(self, records: Iterable[Record]) -> None:
        for record in records:
            if self._aim and record.kind is Kind.CHANGE and record.detail == self._aim:
                self._aim = ""
                self.cluster.kernel.after(0.0, self._strike, self._round, record.node)

    def _strike(self, round_: int, victim: str) -> None:
        if not self.cluster.is_alive(victim):
            return
        away_s = self.rng.uniform(0.05, self.rng.choice(AWAY_S_MAX))
        deeds = {"crash": self._crash, "pause": self._pause, "partition": self._cut}
        name = self.rng.choice(
            ("crash", "crash", "crash", "pause", "partition") if self._crashes else ("pause", "partition")
        )
        if deeds[name](victim, away_s):
            self.counts[name] = self.counts.get(name, 0) + 1

    def _crash(self, victim: str, away_s: float) -> bool:
        self.cluster.crash(victim)
        self.cluster.kernel.after(away_s, self._restart, victim)
        return True

    def _restart(self, victim: str) -> None:
        if not self.cluster.is_alive(victim):
            self.cluster.start(victim)
            self._back()

    def _pause(self, victim: str, away_s: float) -> bool:
        self.cluster.pause(victim)
        self.cluster.kernel.after(self.rng.choice((away_s, LATE_S)), self._resume, victim)
        return True

    def _resume(self, victim: str) -> None:
        if self.cluster.nodes[victim].paused:
            self.cluster.resume(victim)

    def _cut(self, victim: str, away_s: float) -> bool:
        broker = self.cluster.nodes[victim].broker
        others = [] if broker is None else list(broker.links.of)
        if not others:
            return False
        other = self.rng.choice(others)
        self.cluster.network.cut(victim, other)
        self.cluster.network.cut(other, victim)
        self.cluster.kernel.after(away_s, self.cluster.network.heal, (victim, other), (other, victim))
        return True


def _instead(edges: list[Edge], old: Edge) -> list[Edge]:
    """Every link that would make a tree of the rest again."""
    rest = [edge for edge in edges if set(edge) != set(old)]
    sides = [[name for name in adjacency(edges) if name == end or find_path(rest, end, name)] for end in old]
    return [(one, other) for one in sides[0] for other in sides[1] if {one, other} != set(old)]
