"""What users want, and how it changes: the two models of DYNATOPS's section 6.1, as steps of time.

*Poisson* (6.1.2): so many topics for each user, by one of three patterns; in each step every user replaces a topic with
a certain probability, as a Poisson process does. Anybody publishes, in topics that are drawn as subscriptions are.

*Location* (6.1.1): users check in at cells of a grid. A user wants the cell where it is, and those of four others,
drawn once and for all. Each check-in is an event of its cell. The check-ins of the paper are not public: those of a
crowd that is fitted to its numbers take their place (``reknit.pipeline.population``), or a file of real ones.

Owns: who wants what when, where users are, and who publishes. Must not know: brokers, or what is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from reknit.lab.interests import Interests
from reknit.pipeline.population import World, checkins_of
from reknit.planning.notification import Floats
from reknit.planning.ring import Ints

__all__ = ["Area", "Change", "Checkins", "Demand", "Locations", "Poisson", "generated", "read_checkins"]

Longs = npt.NDArray[np.int64]
HOUR_MS = 3_600_000
BEGIN_MS = 1_280_620_800_000
"""The first of August 2010, when the paper's trace begins."""
MONTHS_DAYS = 92
FRIENDS = 4
PEOPLE_AT_ONCE = 2_500


@dataclass(frozen=True, slots=True)
class Change:
    """From now on the user wants these."""

    user: int
    topics: tuple[int, ...]


class Demand(Protocol):
    users: int
    spots: Floats
    """By user: where it is, when a change is looked at; latitude and longitude, or nothing."""

    @property
    def topics(self) -> int: ...

    def begin(self) -> list[Change]: ...

    def steps(self) -> Iterator[tuple[Iterator[Change], Ints, Ints]]:
        """For each step: what changes, one by one; then the topics of the events, and the users who publish them."""


@dataclass(frozen=True, slots=True)
class Area:
    """20 by 60 degrees, in cells of one each; or of ``step``, where fewer will do. The paper has no origin."""

    step: int = 1
    lat0: float = 28.0
    lon0: float = -126.0

    @property
    def shape(self) -> tuple[int, int]:
        return 20 // self.step, 60 // self.step

    @property
    def cells(self) -> int:
        return self.shape[0] * self.shape[1]

    def cell_of(self, lat: Floats, lon: Floats) -> Ints:
        """-1 outside."""
        rows, columns = self.shape
        row, column = np.floor((lat - self.lat0) / self.step), np.floor((lon - self.lon0) / self.step)
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        return np.where(inside, row * columns + column, -1).astype(np.int32)

    def centres(self) -> Floats:
        """By cell."""
        cells = np.arange(self.cells)
        rows, columns = cells // self.shape[1], cells % self.shape[1]
        return np.stack([self.lat0 + (rows + 0.5) * self.step, self.lon0 + (columns + 0.5) * self.step], axis=1)

    def square_of(self, spots: Floats, side: int) -> Ints:
        """Where the same area is cut into ``side`` rows and as many columns: in which of these cells."""
        extent = np.array(self.shape) * self.step
        at = np.clip((spots - [self.lat0, self.lon0]) / extent * side, 0, side - 1).astype(np.int32)
        found: Ints = (at[:, 0] * side + at[:, 1]).astype(np.int32)
        return found

    def square_centres(self, side: int) -> Floats:
        cells, extent = np.arange(side * side), np.array(self.shape) * self.step / side
        origin = np.array([self.lat0, self.lon0])
        found: Floats = origin + np.stack([cells // side + 0.5, cells % side + 0.5], axis=1) * extent
        return found


# --- the Poisson model


@dataclass
class Poisson:
    """``rate``: topics that a user replaces in an hour. ``events``: of a topic in an hour, in the mean."""

    interests: Interests
    users: int
    hours: int
    rate: float
    events: float
    rng: np.random.Generator
    spots: Floats = field(default_factory=lambda: np.zeros((0, 2)))

    @property
    def topics(self) -> int:
        return self.interests.topics

    def begin(self) -> list[Change]:
        self._wanted = self.interests.draw(self.users, self.rng)
        return [Change(user, tuple(row)) for user, row in enumerate(self._wanted.tolist())]

    def steps(self) -> Iterator[tuple[Iterator[Change], Ints, Ints]]:
        for _ in range(self.hours):
            often = self.rng.poisson(self.rate, self.users)
            who = self.rng.permutation(np.repeat(np.arange(self.users), often))
            count = int(self.rng.poisson(self.events * self.topics))
            topics = self.interests.topics_of_events(count, self.rng)
            yield self._changes(who.tolist()), topics, self.rng.integers(self.users, size=count).astype(np.int32)

    def _changes(self, who: Sequence[int]) -> Iterator[Change]:
        for user in who:
            self._wanted[user] = self.interests.replacement(self._wanted[user], self.rng)
            yield Change(user, tuple(self._wanted[user].tolist()))


# --- the location model


@dataclass(frozen=True, slots=True)
class Checkins:
    """Columns, by the time of the check-in. Users are numbers from 0 on; cells are those of an area."""

    user: Ints
    hour: Floats
    """Since the first of them, or since the beginning of the window."""
    spot: Floats
    cell: Ints

    @classmethod
    def of(
        cls, user: Longs, ts_ms: Longs, lat: Floats, lon: Floats, area: Area, begin_ms: int | None = None
    ) -> Checkins:
        """Those outside of the area are left out."""
        lat, lon = lat.astype(np.float64), lon.astype(np.float64)
        cell = area.cell_of(lat, lon)
        order = np.flatnonzero(cell >= 0)
        order = order[np.lexsort((user[order], ts_ms[order]))]
        _, users = np.unique(user[order], return_inverse=True)
        first = int(ts_ms[order[0]]) if begin_ms is None and order.size else begin_ms or 0
        hours = (ts_ms[order] - first) / HOUR_MS
        return cls(users.astype(np.int32), hours, np.stack([lat[order], lon[order]], axis=1), cell[order])


def generated(users: int, days: int, seed: int, area: Area) -> Checkins:
    """The first days of people who do not exist."""
    end_ms, whole = BEGIN_MS + MONTHS_DAYS * 24 * HOUR_MS, Area()
    world = World(seed, whole.lat0, whole.lon0, whole.step, *whole.shape, BEGIN_MS, end_ms)
    batches = [np.arange(at, min(at + PEOPLE_AT_ONCE, users)) for at in range(0, users, PEOPLE_AT_ONCE)]
    made = [checkins_of(world, each) for each in batches]
    user, ts, lat, lon = (np.concatenate([getattr(each, name) for each in made]) for name in _COLUMNS)
    early = ts < BEGIN_MS + days * 24 * HOUR_MS
    return Checkins.of(user[early], ts[early], lat[early], lon[early], area, BEGIN_MS)


_COLUMNS = ("user_id", "ts_ms", "lat", "lon")


def read_checkins(path: str | Path, days: int, area: Area) -> Checkins:
    """Of a Parquet file with the columns that the pipeline's flows read: user_id, ts, lat, lon."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["user_id", "ts", "lat", "lon"])
    ts = table.column("ts").cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_numpy()
    user, lat, lon = (table.column(name).to_numpy() for name in ("user_id", "lat", "lon"))
    last = np.sort(ts)[-1] if len(ts) else 0
    some = ts > last - days * 24 * HOUR_MS  # the latest ones: such traces grow
    return Checkins.of(user[some].astype(np.int64), ts[some], lat[some], lon[some], area)


@dataclass
class Locations:
    """``step_hours``: what happens within so many hours is one step."""

    checkins: Checkins
    step_hours: float
    rng: np.random.Generator
    topics: int = Area().cells
    friends_each: int = FRIENDS
    visits: int = 0
    """That have begun, the first of each user among them."""
    users: int = field(init=False)
    spots: Floats = field(init=False)
    cells: Ints = field(init=False)
    """By user: where it is."""

    def __post_init__(self) -> None:
        self.users = int(self.checkins.user.max(initial=-1)) + 1
        each = min(self.friends_each, self.users - 1)
        steps = 1 + Interests("uniform", self.users - 1, each).draw(self.users, self.rng)
        self.friends = (np.arange(self.users)[:, None] + steps) % self.users
        self._followers: list[list[int]] = [[] for _ in range(self.users)]
        for user, row in enumerate(self.friends.tolist()):
            for friend in row:
                self._followers[friend].append(user)
        _, first = np.unique(self.checkins.user, return_index=True)
        self.cells, self.spots = self.checkins.cell[first].copy(), self.checkins.spot[first].copy()
        self.visits = self.users

    def begin(self) -> list[Change]:
        """Before its first check-in a user is where that will be."""
        return [self._change(user) for user in range(self.users)]

    def _change(self, user: int) -> Change:
        cells = self.cells
        return Change(user, tuple(dict.fromkeys([int(cells[user]), *cells[self.friends[user]].tolist()])))

    def steps(self) -> Iterator[tuple[Iterator[Change], Ints, Ints]]:
        given = self.checkins
        number = (given.hour // self.step_hours).astype(np.int64)
        for step in range(int(number.max(initial=-1)) + 1):
            begin, end = np.searchsorted(number, [step, step + 1])
            yield self._moves(int(begin), int(end)), given.cell[begin:end], given.user[begin:end]

    def _moves(self, begin: int, end: int) -> Iterator[Change]:
        users, cells = self.checkins.user[begin:end].tolist(), self.checkins.cell[begin:end].tolist()
        for at, (user, cell) in enumerate(zip(users, cells, strict=True), begin):
            if cell == self.cells[user]:
                continue
            self.visits += 1
            self.cells[user], self.spots[user] = cell, self.checkins.spot[at]
            for each in (user, *self._followers[user]):
                yield self._change(each)
