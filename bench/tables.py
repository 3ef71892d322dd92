"""What a peer remembers, where the memberships make its tables themselves: by size, and by the number of subtopics.

Owns: the communities, the rows. Must not know: how a membership works.

A community has a parent above it, and subtopics below it, each with a member. Counted are the entries of its members'
tables, of fellow members and of members of the parent. ``structured`` has ``ln N + c`` and ``z`` of them, SCAMP
``2 ln N`` and ``z``; neither may depend on how many subtopics there are. With SCAMP a hundred thousand come one after
the other, each with a thousand messages, which takes half an hour; so that is measured only if it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log
from statistics import mean

from bench.rows import INFORMATION, Row
from reknit.community.options import CourierOptions, GridOptions, PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.sim.assembly import Assembly
from reknit.sim.network import NetworkOptions

__all__ = ["run"]

C, Z = 5.0, 3
TOLERANCE = 1.3
"""The most that the mean may be above its theory."""
PARENTS = 10
PACE_S = 0.05
SETTLE_S = 60.0
SLOW = ScampOptions(lease_s=86_400.0, heartbeat_s=86_400.0, reunion_s=0.0)
"""Nothing but comings: what views become by leases is for ``reknit check`` and the tests."""


@dataclass(frozen=True, slots=True)
class _Case:
    membership: str
    members: int
    subtopics: int
    if_asked: bool = False

    @property
    def measure(self) -> str:
        below = f"{self.subtopics} subtopic{'' if self.subtopics == 1 else 's'}"
        return f"what a peer remembers: {self.members:,} members, {below}, {self.membership}"

    def theory(self) -> float:
        fellows = 2 * log(self.members) if self.membership == "scamp" else floor(log(self.members) + C)
        return min(fellows, self.members - 1) + Z


CASES = (
    *(_Case("structured", members, subtopics) for members in (10, 1_000) for subtopics in (1, 100)),
    *(_Case("scamp", members, subtopics) for members in (10, 1_000) for subtopics in (1, 100)),
    _Case("scamp", 100_000, 1, if_asked=True),
)
QUICK = (_Case("structured", 10, 1), _Case("scamp", 10, 3))


def run(quick: bool = False, only: str = "") -> list[Row]:
    if quick:
        return [_row(case, quick) for case in QUICK]
    return [_row(case, quick) for case in CASES if (only in case.measure if only else not case.if_asked)]


def _row(case: _Case, quick: bool) -> Row:
    entries = _entries(case)
    theory, printed = case.theory(), log(case.members) + C + Z
    found = f"{mean(entries):.1f} entries on average, at most {max(entries)}"
    note = f"{found}; theory {theory:.1f}, ln N + c + z = {printed:.1f}"
    bar = INFORMATION if quick else 1 / TOLERANCE
    return Row(case.measure, "the theory = 1", bar, theory / mean(entries), note)


def _entries(case: _Case) -> list[int]:
    supers = SuperOptions(search_s_max=30.0)
    topic = TopicOptions(c=C, z=Z, membership=case.membership, scamp=SLOW, supers=supers)
    grid = GridOptions(meet_s_max=60.0)
    options = PeerOptions(topic=topic, parents={"t": ()}, grid=grid, courier=CourierOptions(retry_s=1.0))
    world = Assembly(options, NetworkOptions(latency_s_max=0.005), f"{case.membership}/{case.members}")
    of_case = [f"p{number}" for number in range(case.members)]
    topics = [*["t"] * min(PARENTS, case.members), *["t/u"] * case.members]
    topics += [f"t/u/{number}" for number in range(case.subtopics)]
    names = [f"above{number}" for number in range(min(PARENTS, case.members))] + of_case
    names += [f"below{number}" for number in range(case.subtopics)]
    for number, (name, each) in enumerate(zip(names, topics, strict=True)):
        world.start(name, (world.rng.choice(names[:number]),) if number else ())
        world.join(name, each)
        world.run(PACE_S)
    world.run(SETTLE_S)
    communities = [world.peer(name).communities["t/u"] for name in of_case]
    return [len(each.membership.view) + sum(len(table.entries) for table in each.supers) for each in communities]
