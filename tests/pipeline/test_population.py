"""People do the same in whatever company, and their visits are those that were drawn."""

from __future__ import annotations

import numpy as np
import pytest

from reknit.pipeline.population import Checkins, World, checkins_of, draw
from reknit.pipeline.synthesize import PUBLISHED

DAY_MS = 86_400_000
BEGIN_MS, END_MS = 0, 92 * DAY_MS


def world(seed: int = 0) -> World:
    return World(seed, 28, -126, 1, 20, 60, BEGIN_MS, END_MS)


def rows(made: Checkins) -> list[tuple[float, ...]]:
    columns = (made.user_id, made.ts_ms, made.lat, made.lon)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_a_person_does_the_same_alone_and_among_others() -> None:
    together = rows(checkins_of(world(), np.arange(1, 101)))
    assert [row for row in together if row[0] == 42] == rows(checkins_of(world(), np.array([42])))
    backwards = rows(checkins_of(world(), np.arange(100, 0, -1)))
    assert sorted(backwards) == sorted(together)


def test_another_seed_is_another_crowd() -> None:
    users = np.arange(1, 51)
    assert rows(checkins_of(world(1), users)) != rows(checkins_of(world(2), users))


def test_draws_are_spread_evenly_and_independent_of_each_other() -> None:
    users = np.arange(20_000)
    first, second = draw(3, 1, users), draw(3, 1, users, 1)
    for drawn in (first, second, draw(4, 1, users), draw(3, 2, users)):
        assert 0 <= drawn.min() < 0.001
        assert 0.999 < drawn.max() < 1
        assert np.bincount((drawn * 10).astype(int), minlength=10) == pytest.approx([2000] * 10, rel=0.1)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.03
    assert abs(np.corrcoef(first, draw(4, 1, users))[0, 1]) < 0.03


def test_everything_is_inside_of_the_window_and_in_the_order_of_time() -> None:
    made = checkins_of(world(), np.arange(1, 2001))
    assert made.ts_ms.min() >= BEGIN_MS
    assert made.ts_ms.max() < END_MS
    assert made.lat.min() > 28
    assert made.lat.max() < 48
    assert made.lon.min() > -126
    assert made.lon.max() < -66
    cell = np.floor(made.lat - 28) * 60 + np.floor(made.lon + 126)
    order = np.lexsort((made.ts_ms, made.user_id))
    by_time, as_made = cell[order], cell[np.argsort(made.user_id, kind="stable")]
    changes = [np.flatnonzero(np.diff(each)) for each in (by_time, as_made)]
    assert changes[0].tolist() == changes[1].tolist()  # no check-in of a visit lies in another one's time


def test_the_numbers_are_those_that_were_published() -> None:
    """Of 8,000 people, a fifth of the paper's: from the check-ins alone, by a plain count of runs."""
    people = 8_000
    made = checkins_of(world(11), np.arange(1, people + 1))
    order = np.lexsort((made.ts_ms, made.user_id))
    user, ts = made.user_id[order], made.ts_ms[order]
    cell = (np.floor(made.lat[order] - 28) * 60 + np.floor(made.lon[order] + 126)).astype(int)
    begins = np.flatnonzero(np.diff(user, prepend=0) | np.diff(cell, prepend=-1))
    whose, start = user[begins], ts[begins]
    _, visited = np.unique(whose * 1200 + cell[begins], return_counts=True)
    linger = np.append(np.diff(start), 0)[whose == np.append(whose[1:], 0)]  # of closed visits
    found = {
        "checkins": len(user),
        "visits": len(begins),
        "unique_pairs": len(visited),
        "share_pairs_once": (visited == 1).mean(),
        "share_linger_lt_1d_closed": (linger < DAY_MS).mean(),
        "share_linger_gt_7d_closed": (linger > 7 * DAY_MS).mean(),
    }
    part = people / 40_000
    wanted = {name: PUBLISHED[name] * (part if PUBLISHED[name] > 1 else 1) for name in found}
    assert found == pytest.approx(wanted, rel=0.04)
