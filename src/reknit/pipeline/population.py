"""People who do not exist, and where they were: the trace that DYNATOPS used is not public, its numbers are.

Owns: what one person does, fitted to the numbers of section 6.1.1 and Figure 5. Must not know: Spark, or how many
people there are.

All chance is a hash of the seed, the person and the number of the draw. So a person does the same in whatever company,
batch or partition, and the first people of a larger crowd are those of a smaller one. Arithmetic is addition and
multiplication only, which every machine does alike.

A person has some places. The first two are where life happens: each *round* of it begins at the first and ends at the
second, with some of the others between them, so that two visits in a row are never in one cell and every visit drawn is
one visit counted. Whoever has a single place stays there. Everybody else has a long stay or two, which take what the
other visits leave of the time; so each history lasts until the end of the window, and the shares of linger times are
the same with open visits and without.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

__all__ = ["CHECKINS_MEAN", "PLACES_MAX", "Checkins", "World", "checkins_of", "draw"]

CHECKINS_MEAN = 75
"""Of one person, about: how much comes of a batch."""

PLACES = (
    (1, 0.100), (2, 0.210), (3, 0.210), (4, 0.160), (5, 0.110), (6, 0.075),
    (7, 0.045), (8, 0.030), (9, 0.020), (10, 0.015), (12, 0.015), (14, 0.010),
)  # fmt: skip
"""How many places a person has, with the share of people who have that many; 4 in the mean."""
PLACES_MAX = PLACES[-1][0]

ANCHOR_ONCE = 0.11
ANCHOR_SPREAD = 7.75
"""How often life goes round: once with that chance, else twice and up to so many times more."""
OTHER_ONCE = 0.46
OTHER_SPREAD = 6.0
"""How often another place is visited: once with that chance, else twice and up to so many times more."""
SHORT = 5 / 9
"""Of visits that are not long, those under a day: half of nine tenths and a tenth."""
LONG_AGAIN = 0.155
"""People who have two long stays, of those who can."""
NEAR = 0.6
"""Further places near the first; the others are anywhere, as people like them."""
NEAR_CELLS = 3
POPULAR_FROM = 20
"""The cell of rank r is liked like one part in r and this."""

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
SHORTEST_MS = 600_000
LONG_MS_MIN = WEEK_MS + DAY_MS // 2
LATE_SHARE = 0.15
"""Of the window: how late somebody may come in."""

_CHECKINS_SPREAD = (9.8, 29.4, 75.5)
"""By the class of a visit: how many check-ins there are at most after the first; a quarter of that in the mean."""

Array = Any
"""Of numpy's, which mypy is not told about."""


class What(IntEnum):
    """Which question a draw answers: none may be the answer to two."""

    PLACES = 1
    CELL = 2
    NEARBY = 3
    LIKED = 4
    ANCHOR = 5
    ANCHOR_MORE = 6
    ANCHOR_FIRST = 7
    OTHER = 8
    OTHER_MORE = 9
    BETWEEN = 10
    LONG = 11
    AGAIN = 12
    LONG_SECOND = 13
    SPLIT = 14
    CLASS = 15
    LINGER = 16
    ENTRY = 17
    CHECKINS = 18
    MOMENT = 19
    LAT = 20
    LON = 21
    RANK = 22


class Stay(IntEnum):
    SHORT = 0
    MIDDLE = 1
    LONG = 2


@dataclass(frozen=True, slots=True)
class World:
    """Where and when they live."""

    seed: int
    lat0: float
    lon0: float
    step: float
    rows: int
    columns: int
    begin_ms: int
    end_ms: int

    @property
    def cells(self) -> int:
        return self.rows * self.columns


@dataclass(frozen=True, slots=True)
class Checkins:
    """Columns of the same length."""

    user_id: Array
    ts_ms: Array
    lat: Array
    lon: Array


_MASK = (1 << 64) - 1
_ODD = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def _mix(value: Array) -> Array:
    """A bijection of 64 bits in which each bit of the input reaches all of the output (splitmix64's last part)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(_ODD[1])
    value = (value ^ (value >> np.uint64(27))) * np.uint64(_ODD[2])
    return value ^ (value >> np.uint64(31))


def draw(seed: int, what: int, user: Array, number: Array | int = 0) -> Array:
    """For each person a number in [0, 1) that depends on nothing but the arguments."""
    start = np.array([(seed * _ODD[0] + what * _ODD[1]) & _MASK], np.uint64)
    users = _mix(_mix(start) ^ (np.asarray(user).astype(np.uint64) * np.uint64(_ODD[0])))
    mixed = _mix(users + np.asarray(number).astype(np.uint64) * np.uint64(_ODD[2]))
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


# --- who has which places, and how often they are visited


def _places(world: World, user: Array) -> Array:
    ends = np.cumsum([share for _, share in PLACES])
    chosen = np.searchsorted(ends, draw(world.seed, What.PLACES, user), side="right")
    return np.array([count for count, _ in PLACES], np.int64)[np.minimum(chosen, len(PLACES) - 1)]


def _cells(world: World, user: Array) -> Array:
    """By person and place: a cell, no two of one person the same."""
    place = np.arange(min(PLACES_MAX, world.cells))
    who = user[:, None]
    found: Array = _liked(world, draw(world.seed, What.LIKED, who, place))
    near = (draw(world.seed, What.NEARBY, who, place) < NEAR) & (place > 0)
    found = np.where(near, _near(world, found[:, :1], who, place), found)
    for at in place[1:]:
        while (taken := (found[:, :at] == found[:, at : at + 1]).any(axis=1)).any():
            found[taken, at] = (found[taken, at] + 1) % world.cells
    return found


def _liked(world: World, chance: Array) -> Array:
    weights = np.cumsum(1.0 / (np.arange(world.cells) + POPULAR_FROM))
    rank = np.searchsorted(weights, chance * weights[-1], side="right")
    order = np.argsort(draw(world.seed, What.RANK, np.arange(world.cells)), kind="stable")
    return order[np.minimum(rank, world.cells - 1)]


def _near(world: World, home: Array, who: Array, place: Array) -> Array:
    width = 2 * NEAR_CELLS + 1
    off = (draw(world.seed, What.CELL, who, place) * width * width).astype(np.int64)
    row = np.clip(home // world.columns + off // width - NEAR_CELLS, 0, world.rows - 1)
    column = np.clip(home % world.columns + off % width - NEAR_CELLS, 0, world.columns - 1)
    return row * world.columns + column


def _more(chance: Array, spread: float) -> Array:
    """From 0 up to ``spread``; a third of it in the mean."""
    return (chance * chance * spread).astype(np.int64)


def _often(world: World, user: Array, places: Array) -> Array:
    """By person and place: how often it is visited; nothing beyond the person's places."""
    place, who = np.arange(PLACES_MAX), user[:, None]
    rounds = 2 + _more(draw(world.seed, What.ANCHOR_MORE, user), ANCHOR_SPREAD)
    rounds = np.where(draw(world.seed, What.ANCHOR, user) < ANCHOR_ONCE, 1, rounds)
    others = 2 + _more(draw(world.seed, What.OTHER_MORE, who, place), OTHER_SPREAD)
    others = np.where(draw(world.seed, What.OTHER, who, place) < OTHER_ONCE, 1, others)
    often = np.minimum(others, rounds[:, None])
    often[:, 1] = rounds
    often[:, 0] = rounds + (draw(world.seed, What.ANCHOR_FIRST, user) < 0.5)
    often[places == 1, 0] = 1
    return np.where(place < places[:, None], often, 0)


# --- visits in their order


@dataclass(frozen=True, slots=True)
class _Visits:
    """One row for each visit, by person and in the order of time; ``person`` is a place in the batch."""

    person: Array
    cell: Array
    number: Array
    """From 0 on, of one person."""
    count: Array
    """By person."""


def _visits(world: World, user: Array) -> _Visits:
    often = _often(world, user, _places(world, user))
    person, place = np.repeat(np.indices(often.shape).reshape(2, -1), often.ravel(), axis=1)
    sums = np.cumsum(often.ravel())
    round_ = np.arange(sums[-1]) - np.repeat(sums - often.ravel(), often.ravel())
    between = draw(world.seed, What.BETWEEN, user[person], place + PLACES_MAX * round_)
    within = np.where(place == 0, -1.0, np.where(place == 1, 2.0, between))
    order = np.lexsort((place, within, round_, person))
    count = often.sum(axis=1)
    number = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    cells = _cells(world, user)
    return _Visits(person[order], cells[person[order], place[order]], number, count)


def _stays(world: World, user: Array, visits: _Visits) -> Array:
    """The class of each visit."""
    who, last = user[visits.person], visits.count[visits.person] - 1
    short = draw(world.seed, What.CLASS, who, visits.number) < SHORT
    stays = np.where(short, int(Stay.SHORT), int(Stay.MIDDLE))
    closed = visits.count - 1
    first = (draw(world.seed, What.LONG, user) * closed).astype(np.int64)
    second = first + 1 + (draw(world.seed, What.LONG_SECOND, user) * (closed - 1)).astype(np.int64)
    second = np.where(closed > 1, second % np.maximum(closed, 1), first)
    again = draw(world.seed, What.AGAIN, user) < LONG_AGAIN
    long = (visits.number == first[visits.person]) | (again & (closed > 1))[visits.person] & (
        visits.number == second[visits.person]
    )
    return np.where(long & ((visits.number < last) | (last == 0)), int(Stay.LONG), stays)


def _starts(world: World, user: Array, visits: _Visits, stays: Array) -> tuple[Array, Array]:
    """When each visit starts, in milliseconds of the window, and how long it lasts."""
    window = world.end_ms - world.begin_ms
    chance = draw(world.seed, What.LINGER, user[visits.person], visits.number)
    chance = chance * chance
    short = SHORTEST_MS + (chance * (DAY_MS - SHORTEST_MS)).astype(np.int64)
    middle = DAY_MS + (chance * (WEEK_MS - DAY_MS)).astype(np.int64)
    lasts = np.choose(stays, (short, middle, np.zeros_like(short)))
    late = draw(world.seed, What.ENTRY, user)
    entry = (late * late * LATE_SHARE * window).astype(np.int64)
    longs = np.bincount(visits.person, stays == Stay.LONG, len(user)).astype(np.int64)
    room = window - entry - longs * LONG_MS_MIN
    taken = np.bincount(visits.person, lasts, len(user)).astype(np.int64)
    squeezed = np.minimum(1.0, room / np.maximum(taken, 1))
    lasts = np.maximum(3, (lasts * squeezed[visits.person]).astype(np.int64)) * (stays != Stay.LONG)
    taken = np.bincount(visits.person, lasts, len(user)).astype(np.int64)
    lasts = lasts + _long(world, user, visits, stays, window - entry - taken, longs)
    sums = np.cumsum(lasts)
    before = np.concatenate(([0], sums))[np.cumsum(visits.count) - visits.count]
    return entry[visits.person] + sums - lasts - before[visits.person], lasts


def _long(world: World, user: Array, visits: _Visits, stays: Array, left: Array, longs: Array) -> Array:
    """What is left of the window, to those who stay long; two of them share it."""
    spare = left - longs * LONG_MS_MIN
    part = (draw(world.seed, What.SPLIT, user) * spare).astype(np.int64)
    is_long = stays == Stay.LONG
    nth = np.cumsum(is_long)
    first_of = np.concatenate(([0], nth))[np.cumsum(visits.count) - visits.count]
    first = (nth - first_of[visits.person]) == 1
    share = np.where(longs == 1, spare, part)[visits.person]
    return np.where(is_long, LONG_MS_MIN + np.where(first, share, (spare - part)[visits.person]), 0)


# --- check-ins


def checkins_of(world: World, user: Array) -> Checkins:
    """All check-ins of these people, by person and visit; the first of a visit is where it starts."""
    visits = _visits(world, user)
    stays = _stays(world, user, visits)
    starts, lasts = _starts(world, user, visits, stays)
    chance = draw(world.seed, What.CHECKINS, user[visits.person], visits.number)
    counts = 1 + (chance * chance * chance * np.array(_CHECKINS_SPREAD)[stays]).astype(np.int64)
    visit = np.repeat(np.arange(len(counts)), counts)
    person = visits.person[visit]
    number = np.arange(len(visit)) - np.repeat(*_firsts(visits, counts))
    who = user[person]
    nth = np.arange(len(visit)) - np.repeat(np.cumsum(counts) - counts, counts)
    moment = 1 + (draw(world.seed, What.MOMENT, who, number) * (lasts[visit] - 2)).astype(np.int64)
    ts = world.begin_ms + starts[visit] + np.where(nth == 0, 0, moment)
    cell = visits.cell[visit]
    lat = _inside(world, What.LAT, who, number, cell // world.columns, world.lat0)
    lon = _inside(world, What.LON, who, number, cell % world.columns, world.lon0)
    return Checkins(who, ts, lat, lon)


def _firsts(visits: _Visits, counts: Array) -> tuple[Array, Array]:
    """By person: the row of the first check-in, and how many there are."""
    each = np.bincount(visits.person, counts, len(visits.count)).astype(np.int64)
    return np.cumsum(each) - each, each


def _inside(world: World, what: What, who: Array, number: Array, line: Array, origin: float) -> Array:
    """A coordinate well inside of its cell, so that no rounding takes it out."""
    within = 0.02 + 0.96 * draw(world.seed, what, who, number)
    return origin + (line + within) * world.step
