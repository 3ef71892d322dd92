"""Topic-connected overlays, as TCO builds and rebuilds them: for each topic those who want it are connected.

An edge *contributes* to a topic that both its ends want and that is in two parts without it. GM-M adds edges that
contribute until none does: of all, those first that raise the highest degree least; of these, the one that does so
for most topics. DCB-M divides the work: nodes with many topics are set apart, the others are dealt into groups at
random, and each group is connected by itself. Then some of each group stand for it, so that each of its topics is
among them, and these are connected with each other and with those set apart, by the same rule.

When subscriptions have changed and a topic is not connected any more, groups that have a changed node are built anew,
and then what is between groups; a change costs as many messages as there are links that differ. The paper gives neither
when a node has many topics, nor how many groups there are, nor how often a topic must be among those who stand for a
group: all three are ours.

Owns: these overlays, and the way of an event on them. Must not know: users, or other networks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reknit.planning.notification import Bools
from reknit.planning.ring import Ints

__all__ = ["Connected", "DcbOptions", "greedy_merge", "is_connected", "parts_of"]


@dataclass(frozen=True, slots=True)
class DcbOptions:
    groups: int = 5
    many: float = 1.5
    """A node is set apart with more topics than this times the mean."""
    coverage: int = 2
    """So many of a group stand for each of its topics."""


def parts_of(links: Bools, wants: Bools) -> Ints:
    """By topic and node: the least node of its part; -1 where the topic is not wanted."""
    nodes = wants.shape[1]
    found = np.where(wants, np.arange(nodes, dtype=np.int32), -1)
    ones, others = np.nonzero(links)
    both = wants[:, ones] & wants[:, others]
    while True:
        before = found.copy()
        nearer = np.where(both, found[:, others], nodes)
        np.minimum.at(found.T, ones, nearer.T)
        found = np.where(wants, found, -1)
        if (found == before).all():
            return found.astype(np.int32)


def is_connected(links: Bools, wants: Bools) -> bool:
    parts = parts_of(links, wants)
    least = np.where(wants, parts, wants.shape[1]).min(axis=1, initial=wants.shape[1])
    return bool(((parts == least[:, None]) | ~wants).all())


def _contributions(parts: Ints) -> Ints:
    """By two nodes: the topics that both want and that are in two parts."""
    wants = (parts >= 0).astype(np.float32)
    common = wants.T @ wants
    found = common.copy()
    for part in range(parts.shape[1]):  # less those that are in one part already; most parts are of few nodes
        here = parts == part
        some = np.flatnonzero(here.any(axis=0))
        few = here[:, some].astype(np.float32)
        found[np.ix_(some, some)] -= few.T @ few
    contributed: Ints = np.rint(found).astype(np.int32)
    return contributed


def greedy_merge(links: Bools, wants: Bools, members: Ints) -> None:
    """GM-M among these nodes, beginning with the links that are there, which get more."""
    parts = parts_of(links[np.ix_(members, members)], wants[:, members])
    left = np.triu(_contributions(parts), 1)
    degrees = links[members].sum(axis=1)
    while (left > 0).any():
        ones, others = np.nonzero(left > 0)
        raised = np.maximum(degrees[ones], degrees[others]) + 1
        lowest = np.maximum(raised, degrees.max())
        order = np.lexsort((others, ones, -left[ones, others], lowest))
        one, other = int(ones[order[0]]), int(others[order[0]])
        links[members[one], members[other]] = links[members[other], members[one]] = True
        degrees[[one, other]] += 1
        _merge(parts, left, one, other)


def _merge(parts: Ints, left: Ints, one: int, other: int) -> None:
    """The two are linked: in each topic that both want and that was in two parts, these become one."""
    split = np.flatnonzero((parts[:, one] >= 0) & (parts[:, other] >= 0) & (parts[:, one] != parts[:, other]))
    here = parts[split] == parts[split, one][:, None]
    there = parts[split] == parts[split, other][:, None]
    gone = here.astype(np.float32).T @ there.astype(np.float32)
    left -= np.triu(np.rint(gone + gone.T).astype(np.int32), 1)
    parts[split] = np.where(there, parts[split, one][:, None], parts[split])


def _those(which: Bools) -> Ints:
    return np.flatnonzero(which).astype(np.int32)


class Connected:
    """An overlay that follows its nodes' topics. ``wants``: by topic and node."""

    def __init__(self, wants: Bools, rng: np.random.Generator, options: DcbOptions | None = None) -> None:
        self.options = options or DcbOptions()
        nodes = wants.shape[1]
        self.group = rng.permutation(nodes) % self.options.groups
        self._wants = np.zeros_like(wants)
        self.links = np.zeros((nodes, nodes), dtype=np.bool_)
        self._inside = self.links.copy()  # of the links, those that groups have among themselves
        self.update(wants)

    def update(self, wants: Bools) -> int:
        """Links that were made and unmade, where some topic was not connected any more; else none."""
        changed = np.flatnonzero((wants != self._wants).any(axis=0))
        if not changed.size:
            return 0
        if is_connected(self.links, wants):
            self._wants = wants.copy()
            return 0
        before, self._wants = self.links, wants.copy()
        sizes = wants.sum(axis=0)
        apart = sizes > self.options.many * sizes.mean()
        for group in np.unique(self.group[changed]).tolist():
            self._rebuild(_those(self.group == group), apart)
        self.links = self._inside.copy()
        standing = [self._standing(_those((self.group == each) & ~apart)) for each in range(self.options.groups)]
        greedy_merge(self.links, wants, np.concatenate([*standing, _those(apart)]))
        return int(np.count_nonzero(np.triu(before != self.links)))

    def _rebuild(self, group: Ints, apart: Bools) -> None:
        self._inside[group] = self._inside[:, group] = False
        members = group[~apart[group]]
        if members.size:
            greedy_merge(self._inside, self._wants, members)

    def _standing(self, members: Ints) -> Ints:
        """The fewest, greedily, of whom so many want each topic that is wanted here (or all who do)."""
        wants = self._wants[:, members]
        missing = np.minimum(wants.sum(axis=1), self.options.coverage)
        chosen: list[int] = []
        while (missing > 0).any():
            worth = wants[missing > 0].sum(axis=0)
            worth[chosen] = -1
            best = int(np.argmax(worth))
            chosen.append(best)
            missing = missing - wants[:, best]
        return members[chosen]

    def spread(self, sources: Ints) -> tuple[Ints, Ints]:
        """By topic, of an event from this node: messages, and hops to each node (-1 where it does not come).

        Who does not want the topic itself gives the event to one that does, which takes a hop.
        """
        wants, topics = self._wants, np.arange(len(sources))
        inside = wants[topics, sources]
        entry = np.where(inside, sources, wants.argmax(axis=1))
        hops = np.full(wants.shape, -1, dtype=np.int32)
        front = np.zeros(wants.shape, dtype=np.bool_)
        front[topics, entry] = wants.any(axis=1)
        at = np.where(inside, 0, 1)[:, None]
        links = self.links.astype(np.float32)
        while front.any():
            hops = np.where(front, at, hops)
            front = (front.astype(np.float32) @ links > 0) & wants & (hops < 0)
            at = at + 1
        messages = np.maximum((hops >= 0).sum(axis=1) - 1, 0) + (~inside & wants.any(axis=1))
        return messages.astype(np.int32), hops
