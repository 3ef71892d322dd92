"""Communities hold together, and keep in touch with those above them.

Whoever is a member must be known, or no formula owes it anything. When all is calm, gossip can get from each member of
a community to each other one by their tables as they are; and somebody of the community knows somebody of the nearest
one above it that has members, for each of its parents. Tables are drawn by chance and anew all the time, so a member
may be in nobody's for a moment; but it notices, and not for long. Nor may it be one member after the other all the
time: with ``ln N + c`` in each table, somebody is in none of them in ``1 - exp(-exp(-c))`` of all moments, and no more.
But tables have whole entries: for 20 members and c = 2 there are 4, not 4.996, and it is a fifth of all moments rather
than an eighth. So the share is reckoned from the size that tables have.

Owns: that judgement. Must not know: anything but the trace, and which community is above which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import ceil, log

from reknit.sim.checkers.views import Tables, follow
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["Ladders", "chance_of_apart", "check_touch", "moments_of_all"]

MOMENTS_MAX = 3
"""Of calm, one after the other, at which it may not be so for one member, or for those above."""

MOMENTS_OF_ALL_MAX = 6
"""The same for a community, whoever it is that is out of reach; more where chance makes so many in a row."""

UNLIKELY = 5e-6
"""So rarely does chance make a community be apart at one moment after the other until it is said."""

Ladders = Callable[[str], list[tuple[str, ...]]]
"""From a community's topic filter to a ladder for each of its parents: the parent, and all above it, nearest first."""


Size = Callable[[int], float]
"""From the number of members to how many of them are in a table on average, by the theory of the membership."""


def chance_of_apart(members: int, size: float) -> float:
    """How likely somebody is in no table at all, where each of them holds so many others by chance."""
    if members < 2 or size >= members - 1:
        return 0.0
    forgotten = (1.0 - size / (members - 1)) ** (members - 1)
    return 1.0 - (1.0 - forgotten) ** members


def moments_of_all(members: int, size: float) -> int:
    """At how many moments, one after the other, somebody of a community must not be out of reach."""
    chance = chance_of_apart(members, size)
    return max(MOMENTS_OF_ALL_MAX, ceil(log(UNLIKELY) / log(chance)) if chance else 0)


def check_touch(records: Iterable[Record], ladders: Ladders, size: Size) -> list[Violation]:
    """At moments of calm between which nobody has come or gone."""
    found = []
    since: dict[str, int] = {}  # by what is wrong: for how many moments
    for record, tables, _ in follow(records):
        if record.kind in (Kind.SUBSCRIBED, Kind.UNSUBSCRIBED, Kind.CRASHED, Kind.STARTED):
            since = {}
        elif record.kind is Kind.CALM:
            wrong = dict(_wrong(tables, ladders, size))
            since = {what: since.get(what, 0) + 1 for what in wrong}
            found += [Violation("touch", record.time, what) for what, most in wrong.items() if since[what] == most]
    return found


def _wrong(tables: Tables, ladders: Ladders, size: Size) -> Iterator[tuple[str, int]]:
    """What is wrong at this moment, and at how many, one after the other, it must not be."""
    for topic, members in tables.members.items():
        if not members:
            continue
        apart = _apart(tables, topic)
        if apart:
            most = moments_of_all(len(members), size(len(members)))
            yield f"the {len(members)} members of {topic} do not all reach each other", most
        for peer in apart:
            yield f"{peer} and most of the {len(members)} members of {topic} do not reach each other", MOMENTS_MAX
        for ladder in ladders(topic):
            nearest = next((each for each in ladder if tables.members.get(each)), None)
            if nearest is not None and not _is_linked(tables, topic, nearest):
                yield f"nobody of {topic} knows anybody of {nearest}, above it", MOMENTS_MAX


def _apart(tables: Tables, topic: str) -> list[str]:
    """Who is not among the most members that reach each other; of several parts of one size, the first counts."""
    members = tables.members[topic]
    there = {peer: [other for other in tables.table(peer, topic) if other in members] for peer in members}
    back: dict[str, list[str]] = {peer: [] for peer in members}
    for peer, others in there.items():
        for other in others:
            back[other].append(peer)
    most: dict[str, None] = {}
    left = dict.fromkeys(members)
    while len(left) > len(most):
        first = next(iter(left))
        behind = _reached(first, back)
        part = {peer: None for peer in _reached(first, there) if peer in behind}
        most = part if len(part) > len(most) else most
        left = {peer: None for peer in left if peer not in part}
    return [peer for peer in members if peer not in most]


def _reached(first: str, ways: dict[str, list[str]]) -> dict[str, None]:
    found, left = {first: None}, [first]
    while left:
        fresh = [other for other in ways[left.pop()] if other not in found]
        found.update(dict.fromkeys(fresh))
        left += fresh
    return found


def _is_linked(tables: Tables, topic: str, above: str) -> bool:
    """By who is a member of both, or by a table."""
    theirs = tables.members[above]
    return any(
        peer in theirs or any(community == above and other in theirs for community, other in tables.above(peer, topic))
        for peer in tables.members[topic]
    )
