"""What a peer remembers, where the memberships make its tables themselves: by size, and by the number of subtopics.

Owns: the communities, the rows. Must not know: how a membership works.

A community has a parent above it, and subtopics below it, each with a member. Counted are the entries of its members'
tables, of fellow members and of members of the parent. ``structured`` has ``ln N + c`` and ``z`` of them, SCAMP
``2 ln N`` and ``z``; neither may depend on how many subtopics there are. A row beside it counts whatever else a peer
knows of others: who has it in its view, contacts, who was lost, and P-Grid's references, replicas and acquaintances,
each of which has its bound. What a peer of P-Grid keeps for all, the lists of members of topics that fall to it, is in
the note: those who have the key of a topic have all its members.

A hundred thousand come one after the other, which takes half an hour and more; so that is measured only if it is
asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log
from statistics import mean

from bench.rows import INFORMATION, Row
from reknit.community.memberships.scamp import Scamp
from reknit.community.options import CourierOptions, GridOptions, PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.community.peer import Peer
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
    *(_Case(membership, 100_000, 1, if_asked=True) for membership in ("scamp", "structured")),
)
QUICK = (_Case("structured", 10, 1), _Case("scamp", 10, 3))


def run(quick: bool = False, only: str = "") -> list[Row]:
    if quick:
        return [row for case in QUICK for row in _rows(case, quick)]
    chosen = [case for case in CASES if (only in case.measure if only else not case.if_asked)]
    return [row for case in chosen for row in _rows(case, quick)]


def _rows(case: _Case, quick: bool) -> list[Row]:
    peers = _members(case)
    return [_row(case, [_tables(peer) for peer in peers], quick), _rest_row(case, peers, quick)]


def _row(case: _Case, entries: list[int], quick: bool) -> Row:
    theory, printed = case.theory(), log(case.members) + C + Z
    found = f"{mean(entries):.1f} entries on average, at most {max(entries)}"
    note = f"{found}; theory {theory:.1f}, ln N + c + z = {printed:.1f}"
    bar = INFORMATION if quick else 1 / TOLERANCE
    return Row(case.measure, "the theory = 1", bar, theory / mean(entries), note)


def _rest_row(case: _Case, peers: list[Peer], quick: bool) -> Row:
    """All else that is known of others, at whoever knows most, beside the sum of the bounds."""
    entries = [_rest(peer) for peer in peers]
    kept = [_kept(peer) for peer in peers]
    note = (
        f"{mean(entries):.1f} on average, at most {max(entries)}; kept for all: {mean(kept):.1f}, at most {max(kept)}"
    )
    bar = INFORMATION if quick else 1.0
    return Row(f"{case.measure}: all else", "the bounds = 1", bar, _rest_max(peers[0]) / max(1, *entries), note)


def _tables(peer: Peer) -> int:
    community = peer.communities["t/u"]
    return len(community.membership.view) + sum(len(table.entries) for table in community.supers)


def _rest(peer: Peer) -> int:
    membership = peer.communities["t/u"].membership
    known = len(membership.in_view) if isinstance(membership, Scamp) else 0
    known += len(peer.contacts) + len(peer.absent)
    if peer.grid is not None:
        trie = peer.grid.trie
        known += sum(map(len, trie.references)) + len(trie.replicas) + len(peer.grid.acquaintances)
    return known


def _kept(peer: Peer) -> int:
    shelf = peer.grid.shelf if peer.grid is not None else None
    return sum(map(shelf.count, shelf.topics())) if shelf is not None else 0


def _rest_max(peer: Peer) -> int:
    """In-view, contacts, who was lost; then references at each bit, replicas, acquaintances."""
    topic, grid = peer.communities["t/u"].options, peer.options.grid
    bound = 2 * topic.scamp.view_max if topic.membership == "scamp" else 0
    bound += 3 * peer.options.contacts_max
    if peer.grid is not None:
        bound += grid.references_max * grid.path_bits_max + grid.replicas_max + grid.acquaintances_max
    return bound


def _members(case: _Case) -> list[Peer]:
    supers = SuperOptions(search_s_max=30.0)
    topic = TopicOptions(c=C, z=Z, membership=case.membership, scamp=SLOW, supers=supers)
    grid = GridOptions(meet_s_max=60.0, entries_max=2 * case.members + 1000)
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
    return [world.peer(name) for name in of_case]
