"""Swaps, new brokers and drains in which one that takes part meets with a fault at a chosen message.

As with replacements (``aims``), the message is chosen first, and which of its kind it is to be: the second session that
is taken, say. Then changes that have it are made, one after the other, until it has come. Some faults are only the
first of two: what is said when somebody is back, or has not come in time, is a message, too. When one has been hit,
another is chosen, so faults of several changes may overlap.

Owns: which change, which message, and which of those who take part is the victim. Must not know: the fault, or what is
right.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence

from reknit.sim.cluster import Cluster
from reknit.sim.coverage import points
from reknit.sim.operator import Operator
from reknit.sim.strikes import Strikes
from reknit.trace.records import Kind, Record

__all__ = ["Targets"]

KINDS = ("swap", "swap", "swap", "swap", "add", "drain", "drain", "drain")
"""A swap has the most messages, and a drain has some for each session."""

LATER = ("unlock at the middle", "unlock at the goal")
"""Hardly ever said, unless the mover has been struck before the new link is there."""

_LATE_IN_SWAPS = (
    *(f"swap: {step}" for step in (*LATER, "without at the middle", "without at the mover")),
    *(f"return: {step}" for step in points("return", crashing=True)),
    *("swap: ask at the mover", "swap: ask at the middle", "swap: ask at the goal", "swap: seated at the middle"),
)

AFTERWARDS = {
    "swap": (*_LATE_IN_SWAPS, *_LATE_IN_SWAPS, *(f"swap: {step}" for step in points("swap", crashing=True))),
    "drain": tuple(f"drain: {step}" for step in points("drain", crashing=True)),
}
"""What may be waited for when somebody has been struck already: rather what is seldom said else."""

AGAIN = 0.3
"""How often there is a second fault in the same change."""

FIRST_SHOT_S, SHOT_S = 0.2, 0.8
"""Changes are begun so often, until the message has come."""

PATIENCE = 5
"""So many are begun for one message; some messages are for rare occasions only."""

BYSTANDER = 0.25
"""How often it is not who has handled the message, but another one that takes part."""

BROKERS_MIN = 3
"""Before there are fewer brokers are added instead."""


class Targets:
    def __init__(
        self,
        cluster: Cluster,
        rng: random.Random,
        counts: dict[str, int],
        give_clients: Callable[[Iterable[str]], None],
    ) -> None:
        """``counts``: what was done, by name; added to. ``give_clients``: to brokers that are new."""
        self.cluster = cluster
        self.rng = rng
        self.strikes = Strikes(cluster, rng, counts)
        self.operator = Operator(cluster, rng)
        self.give_clients = give_clients
        self._kind = ""
        self._waits_for: list[str] = []  # what the records of the messages say, one after the other
        self._nth = 0  # it is hit when so many more of the first have come
        self._shots = 0  # at this target
        self._those: Sequence[str] = ()  # who takes part in what was begun last
        self._round = 0

    def schedule(self, span_s: float, crashing: bool, back: Callable[[], None]) -> None:
        """For the next round. ``crashing``: whether brokers may. ``back``: clients come to brokers in a new life."""
        self._round += 1
        self.strikes.back, self.strikes.crashing = back, crashing
        self._draw()
        self.cluster.observed = self._see
        for number in range(int((span_s - FIRST_SHOT_S) / SHOT_S)):
            self.cluster.kernel.after(FIRST_SHOT_S + number * SHOT_S, self._shoot, self._round)

    def stop(self) -> None:
        """What has not been hit by now is not hit any more."""
        self._round += 1
        self._waits_for, self.cluster.observed = [], None

    def _draw(self) -> None:
        self._kind = self.rng.choice(KINDS)
        steps = [step for step in points(self._kind, crashing=False) if step not in LATER]
        self._waits_for = [f"{self._kind}: {self.rng.choice(steps)}"]
        self._nth = self.rng.choice((1, 1, 1, 2))
        self._shots = 0
        if self._kind in AFTERWARDS and self.rng.random() < AGAIN:
            self._waits_for.append(self.rng.choice(AFTERWARDS[self._kind]))
            if self._waits_for[1].removeprefix("swap: ") in LATER:
                self._waits_for[0] = "swap: start at the mover"

    # --- what is begun

    def _shoot(self, round_: int) -> None:
        if round_ != self._round:
            return
        if not self._waits_for or self._shots >= PATIENCE:
            self._draw()
        self._shots += 1
        links = {name: others for name, others in self.operator.links().items() if not self.cluster.nodes[name].paused}
        deeds = {"swap": self._swap, "add": self._add, "drain": self._drain}
        if not deeds[self._kind](links):
            self._add(links)

    def _swap(self, links: dict[str, list[str]]) -> bool:
        """Now and then another one at once, which may collide with it."""
        middles = [name for name, others in links.items() if len(others) > 1]
        for _ in range(self.rng.choice((1, 1, 1, 2)) if middles else 0):
            middle = self.rng.choice(middles)
            mover, goal = self.rng.sample(links[middle], 2)
            self._those = (mover, middle, goal)
            self.cluster.swap(mover, middle, goal)
        return bool(middles)

    def _add(self, links: dict[str, list[str]]) -> bool:
        if links:
            new, neighbour = f"n{len(self.cluster.nodes)}", self.rng.choice(list(links))
            self.cluster.add_node(new)
            self.cluster.start(new)
            self.give_clients([new])
            self.strikes.back()
            self._those = (new, neighbour)
            self.cluster.add_link(new, neighbour)
        return bool(links)

    def _drain(self, links: dict[str, list[str]]) -> bool:
        leaves = [name for name, others in links.items() if len(others) == 1]
        if len(links) <= BROKERS_MIN or not leaves:
            return False
        leaver = self.rng.choice(leaves)
        self._those = (leaver, *links[leaver])
        self.cluster.drain(leaver)
        return True

    # --- who is struck

    def _see(self, records: Iterable[Record]) -> None:
        for record in records:
            if self._waits_for and record.kind is Kind.CHANGE and record.detail == self._waits_for[0]:
                self._nth -= 1
                if self._nth <= 0:
                    del self._waits_for[0]
                    self.cluster.kernel.after(0.0, self._strike, self._round, record)

    def _strike(self, round_: int, record: Record) -> None:
        if round_ != self._round:
            return
        those = dict.fromkeys([record.node, *self._those] if record.node in self._those else [record.node, record.peer])
        others = [name for name in those if name and name != record.node]
        victim = self.rng.choice(others) if others and self.rng.random() < BYSTANDER else record.node
        self.strikes.strike(victim, [name for name in those if name and name != victim])
