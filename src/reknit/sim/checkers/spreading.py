"""Whom an event reaches, by drawing: tables as they are, and every message by its chance.

A member with tables as they are misses an event if none of those who know it sends it a copy that arrives: each who has
it picks ``ln N + c`` of its table, and passes it upward with probability ``p_sel``, to each of the entries of a table
above with probability ``p_a``, which is the corrected ``pit`` of the errata over tables as they are. There is no closed
form for all ways together, so they are drawn.

All draws of one event are made at once, one in each bit of a number: who has the event in which draw, and which message
gets through in which. An event has then spread when no message brings anybody anything new.

Owns: those draws. Must not know: what an event did in earnest, or what is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log
from random import Random

from reknit.sim.checkers.views import Tables

__all__ = ["DRAWS", "Drawn", "Terms", "draw_spread"]

DRAWS = 128
ALL = (1 << DRAWS) - 1
PRECISION_BITS = 10
"""Chances are taken as multiples of ``2 ** -10``."""

Place = tuple[str, str]
"""A community's topic filter, and a member."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Parameters of all communities, and of the network between them."""

    c: float
    g: float
    a: float
    z: int
    p_succ: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """Of one community, whose members want the event."""

    chances: dict[str, float]
    """By member: how likely it gets it; never for certain, as that cannot be told from draws."""
    mean: float
    """Of how many get it, and the variance of that."""
    variance: float


def draw_spread(
    tables: Tables, ladder: tuple[str, ...], publisher: str, terms: Terms, rng: Random, error: float = 1.0
) -> dict[str, Drawn]:
    """By community that the event belongs to. Nothing where the publisher is no member.

    ``error``: the factor by which peers take their communities for smaller where they count whom to send to, and for
    larger where they are one of few.
    """
    if publisher not in tables.members.get(ladder[0], {}):
        return {}
    had = _Spread(tables, ladder, terms, rng, error).from_(publisher)
    found = {}
    for topic in ladder:
        wanting = [peer for peer, wants in tables.members.get(topic, {}).items() if wants]
        if wanting:
            found[topic] = _drawn({peer: had.get((topic, peer), 0) for peer in wanting})
    return found


def _drawn(masks: dict[str, int]) -> Drawn:
    counts = [sum(mask >> bit & 1 for mask in masks.values()) for bit in range(DRAWS)]
    mean = sum(counts) / DRAWS
    chances = {peer: mask.bit_count() / (DRAWS + 1) for peer, mask in masks.items()}
    return Drawn(chances, mean, sum((count - mean) ** 2 for count in counts) / (DRAWS - 1))


class _Spread:
    """Of one event."""

    def __init__(self, tables: Tables, ladder: tuple[str, ...], terms: Terms, rng: Random, error: float) -> None:
        self.tables, self.ladder, self.terms, self.rng, self.error = tables, ladder, terms, rng, error

    def from_(self, publisher: str) -> dict[Place, int]:
        """In which draws each has it, where it has it in any."""
        first = (self.ladder[0], publisher)
        had = {first: ALL}
        ways: dict[Place, list[tuple[Place, int]]] = {}  # drawn when somebody is reached for the first time
        left = [first]
        while left:
            place = left.pop()
            if place not in ways:
                ways[place] = [*self._inside(place), *self._upward(place)]
            for to, passes in ways[place]:
                before = had.get(to, 0)
                after = before | (had[place] & passes)
                if after != before:
                    had[to] = after
                    left.append(to)
        return had

    def _inside(self, place: Place) -> list[tuple[Place, int]]:
        topic, peer = place
        members, table = self.tables.members[topic], self.tables.table(peer, topic)
        fan = max(0, floor(log(max(1.0, len(members) / self.error)) + self.terms.c))
        chance = self.terms.p_succ * min(1.0, fan / len(table)) if table else 0.0
        return [((topic, other), _mask(chance, self.rng)) for other in table if other in members]

    def _upward(self, place: Place) -> list[tuple[Place, int]]:
        """Who is a member above as well has it there for certain; to others it is passed as one of few."""
        topic, peer = place
        terms, members = self.terms, self.tables.members
        above = self.ladder[self.ladder.index(topic) + 1 :]
        ways = [((each, peer), ALL) for each in above if peer in members.get(each, {})]
        p_sel = min(1.0, terms.g / (len(members[topic]) * self.error))
        for parent, entries in self.tables.parents(peer, topic):
            if any(peer in members[each] for each in members if each.removesuffix("/#") == parent):
                continue
            chosen = _mask(p_sel, self.rng)
            chance = terms.p_succ * min(1.0, terms.a / min(terms.z, len(entries)))
            ways += [
                ((each, other), chosen & _mask(chance, self.rng))
                for each, other in entries
                if each in above and other in members.get(each, {})
            ]
        return ways


def _mask(chance: float, rng: Random) -> int:
    """Each bit is set with this chance."""
    digits = round(chance * (1 << PRECISION_BITS))
    if digits >= 1 << PRECISION_BITS:
        return ALL
    mask = 0
    for place in range(PRECISION_BITS):  # from the last digit of the binary fraction to its first
        drawn = rng.getrandbits(DRAWS)
        mask = mask | drawn if digits >> place & 1 else mask & drawn
    return mask
