"""Replacements of links in which one that takes part meets with a fault at a chosen message.

Faults that come at any time seldom fall into the few round trips of a replacement. So here the message is chosen first:
then a replacement that has it, and when a broker has handled it, it crashes, is paused, or is cut off from one beside
it on the path.

Owns: which replacement, and which message. Must not know: the fault, or what is right.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from reknit.core.overlay.change import Place, find_change
from reknit.core.overlay.shapes import Edge, adjacency, find_path
from reknit.sim.cluster import Cluster
from reknit.sim.coverage import NOTIFIED, REPLACEMENTS, crash_points
from reknit.sim.plans import Plan
from reknit.sim.strikes import Strikes
from reknit.trace.records import Kind, Record
from reknit.wire.messages import Change

__all__ = ["Aims", "kinds_for"]

SHOTS_S = (0.3, 1.5, 3.0, 4.5)
"""When it is tried: a replacement may be refused, or come to nothing before the message is sent."""


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
        self.strikes = Strikes(cluster, rng, counts)
        self._aim = ""  # what its record says; empty if there is none
        self._round = 0

    def schedule(self, plan: Plan, back: Callable[[], None]) -> None:
        """Draw one for the next round. ``back``: is called when a broker has come back from a crash."""
        self._round += 1
        self.strikes.back, self.strikes.crashing = back, plan.faults.crashes > 0
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
                self.cluster.kernel.after(0.0, self.strikes.strike, record.node)


def _instead(edges: list[Edge], old: Edge) -> list[Edge]:
    """Every link that would make a tree of the rest again."""
    rest = [edge for edge in edges if set(edge) != set(old)]
    sides = [[name for name in adjacency(edges) if name == end or find_path(rest, end, name)] for end in old]
    return [(one, other) for one in sides[0] for other in sides[1] if {one, other} != set(old)]
