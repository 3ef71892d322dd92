"""What CAMCAST is compared with, simulated in rounds: gossip multicast, hierarchical gossip broadcast, and PMcast.

Processes are numbers; which of them want the event follows from the chain: those of the level where it is published and
of all above. Each message takes a round and gets lost by chance. Plain broadcast is in ``communities``.

- *Multicast*: each topic's community gossips by itself, and a publisher has a table for its topic and all above, and
  publishes in each.
- *Hierarchical broadcast*: processes are in clusters that have nothing to do with interests. Everybody gossips to
  ``ln m + c1`` of its cluster; and of a cluster about ``ln C + c2`` messages go to others, each by a member drawn.
- *PMcast*: processes are leaves of a tree. Of each subgroup some delegates stand for it one level up, with what any of
  its members wants. From the top down, whoever has the event gossips it for some rounds among the delegates of that
  level that stand for somebody who wants it. Who is a delegate may get what it does not want itself.

Owns: these three. Must not know: communities of peers, or experiments.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log

from reknit.community.formulas import fan_out, push_rounds
from reknit.lab.communities import Chain

__all__ = ["DELEGATES", "DEPTH", "FAN", "Rival", "hierarchical", "multicast", "pmcast"]

DEPTH, DELEGATES, FAN = 3, 3, 4
"""Of PMcast, whose parameters the paper does not give. Its rounds would fit about 3.8 messages a round that arrive, and
these are 4 of which 85 % do; for its parasites no choice was found that fits."""

CLUSTER = 50
"""Processes in a cluster, or about that."""


@dataclass(slots=True)
class Rival:
    """``memory``: entries of the process that has most."""

    wanted: int
    reached: int = 0
    messages: int = 0
    parasites: int = 0
    rounds: int = 0
    memory: int = 0


class _Run:
    def __init__(self, chain: Chain, seed: str) -> None:
        self.chain = chain
        self.rng = random.Random(f"{seed}/rivals")
        at = range(len(chain.sizes))[chain.at]
        self.level_of = [level for level, size in enumerate(chain.sizes) for _ in range(size)]
        self.wants = [level <= at for level in self.level_of]
        self.publisher = self.rng.choice([one for one, level in enumerate(self.level_of) if level == at])
        self.has: dict[int, None] = {self.publisher: None}
        self.found = Rival(sum(self.wants))

    def send(self, to: int) -> bool:
        """Whether it is news for whoever it reaches, if anybody."""
        self.found.messages += 1
        if self.rng.random() >= self.chain.p_succ:
            return False
        self.found.parasites += not self.wants[to]
        if to in self.has:
            return False
        self.has[to] = None
        return True

    def others(self, members: Sequence[int], one: int, count: int) -> list[int]:
        drawn = self.rng.sample(members, min(count + 1, len(members)))
        return [each for each in drawn if each != one][:count]

    def infect(self, begun: Sequence[int], targets: Callable[[int], list[int]]) -> int:
        """Each who gets it passes it on once. The number of rounds until nobody new has it."""
        level, count = list(begun), 0
        while level:
            level = [to for one in level for to in targets(one) if self.send(to)]
            count += bool(level)
        return count

    def end(self, rounds: int, memory: int) -> Rival:
        self.found.reached = sum(self.wants[one] for one in self.has)
        self.found.rounds, self.found.memory = rounds, memory
        return self.found


def multicast(chain: Chain, seed: str) -> Rival:
    run = _Run(chain, seed)
    rounds = memory = 0
    for level in range(range(len(chain.sizes))[chain.at] + 1):
        members = [one for one, its in enumerate(run.level_of) if its == level]
        count = fan_out(len(members), chain.c)
        memory += count

        def targets(one: int, members: list[int] = members, count: int = count) -> list[int]:
            return run.others(members, one, count)

        rounds = max(rounds, run.infect([run.publisher], targets))
    return run.end(rounds, memory)


def hierarchical(chain: Chain, seed: str, cluster: int = CLUSTER, c2: float | None = None) -> Rival:
    """``c2``: for messages between clusters; the chain's own ``c`` where none is given."""
    run = _Run(chain, seed)
    everybody = list(range(len(run.level_of)))
    run.rng.shuffle(everybody)
    count = max(1, round(len(everybody) / cluster))
    clusters = [everybody[at::count] for at in range(count)]
    home = {one: number for number, members in enumerate(clusters) for one in members}
    outward = log(count) + (chain.c if c2 is None else c2)

    def targets(one: int) -> list[int]:
        members = clusters[home[one]]
        chosen = run.others(members, one, fan_out(len(members), chain.c))
        if count > 1 and run.rng.random() < outward / len(members):
            other = run.rng.choice([number for number in range(count) if number != home[one]])
            chosen.append(run.rng.choice(clusters[other]))
        return chosen

    rounds = run.infect([run.publisher], targets)
    return run.end(rounds, fan_out(len(clusters[0]), chain.c) + max(0, int(outward)))


def pmcast(chain: Chain, seed: str) -> Rival:
    run = _Run(chain, seed)
    everybody = list(range(len(run.level_of)))
    run.rng.shuffle(everybody)
    branching = ceil(len(everybody) ** (1 / DEPTH))
    rounds = _descend(run, everybody, branching, 1, [run.publisher])
    return run.end(rounds, DELEGATES * branching * (DEPTH - 1) + branching)


def _descend(run: _Run, members: list[int], branching: int, depth: int, holders: list[int]) -> int:
    """Gossip in this subgroup, then in those below it; rounds until the last of them is through."""
    if depth == DEPTH:
        return _gossip(run, {one: run.wants[one] for one in members}, holders)
    size = max(1, ceil(len(members) / branching))
    groups = [members[at : at + size] for at in range(0, len(members), size)]
    view = {
        one: any(run.wants[each] for each in group)
        for group in groups
        for one in group[:DELEGATES]  # the lowest addresses, whatever they want: anybody can tell who they are
    }
    took = _gossip(run, view, holders)
    below = [
        _descend(run, group, branching, depth + 1, here)
        for group in groups
        if (here := [one for one in group if one in run.has])
    ]
    return took + max(below, default=0)


def _gossip(run: _Run, view: dict[int, bool], holders: list[int]) -> int:
    """For as many rounds as theory says: of those drawn from a view only some match, so the fan is theirs only."""
    able = [one for one, matches in view.items() if matches]
    if not able:
        return 0
    concerned = len(dict.fromkeys([*able, *holders]))
    limit = max(1, ceil(push_rounds(concerned, FAN * run.chain.p_succ * len(able) / len(view))))
    having, last = list(holders), 0
    for number in range(1, limit + 1):
        new = [
            to
            for one in having
            for to in run.rng.sample(list(view), min(FAN, len(view)))
            if to != one and view[to] and run.send(to)
        ]
        having += new
        last = number if new else last
    return last
