"""Users whose subscriptions change: by chance, and by where they are."""

from __future__ import annotations

import numpy as np
import pytest

from reknit.lab.demand import Area, Checkins, Locations, Poisson, generated, read_checkins
from reknit.lab.interests import Interests
from tests.pipeline.places import DATA, needs_data


def test_by_chance_as_many_topics_are_replaced_as_the_rate_says() -> None:
    """ "The dynamics of subscription changes over time is modeled as a Poisson process"."""
    demand = Poisson(Interests("multimodal", 100, 5, 10), 400, 20, 0.1, 10.0, np.random.default_rng(1))
    wanted = {each.user: set(each.topics) for each in demand.begin()}
    changes = events = 0
    for step, topics, users in demand.steps():
        for change in step:
            assert len(set(change.topics) - wanted[change.user]) == 1
            assert {topic // 10 for topic in change.topics} == {change.topics[0] // 10}
            wanted[change.user] = set(change.topics)
            changes += 1
        events += len(topics)
        assert len(topics) == len(users)
        assert topics.max() < 100
        assert users.max() < 400
    assert changes == pytest.approx(400 * 20 * 0.1, rel=0.15)
    assert events == pytest.approx(100 * 20 * 10, rel=0.05)


def test_popular_topics_have_more_events_where_popularity_differs() -> None:
    demand = Poisson(Interests("zipf", 50, 5), 100, 5, 0.0, 20.0, np.random.default_rng(1))
    demand.begin()
    seen = np.bincount(np.concatenate([topics for _, topics, _ in demand.steps()]), minlength=50)
    assert seen[0] > 5 * seen[40]


def trace() -> Checkins:
    """User 0 goes from the first cell to the second and back, user 1 stays; somebody is not in the area."""
    lat0, lon0 = Area().lat0, Area().lon0
    user, hour = np.array([0, 1, 9, 0, 0, 0]), np.array([0.0, 0.5, 1.0, 2.0, 3.0, 15.0])
    lon = lon0 + np.array([0.5, 3.5, -5.0, 1.5, 1.7, 0.2])
    return Checkins.of(user, (hour * 3_600_000).astype(np.int64), np.full(6, lat0 + 0.5), lon, Area())


def test_a_user_wants_the_cell_where_it_is_and_those_of_its_friends() -> None:
    """ "a user always subscribed to the grids he/she was residing in ... and constantly follow"."""
    demand = Locations(trace(), 12.0, np.random.default_rng(1))
    assert demand.users == 2
    assert [each.topics for each in demand.begin()] == [(0, 3), (3, 0)]
    told = [([(each.user, each.topics) for each in step], topics.tolist()) for step, topics, _ in demand.steps()]
    assert told == [
        ([(0, (1, 3)), (1, (3, 1))], [0, 3, 1, 1]),
        ([(0, (0, 3)), (1, (3, 0))], [0]),
    ]
    assert demand.visits == 4


def test_people_who_do_not_exist_have_four_friends_each_and_move_as_published() -> None:
    """Half of the visits end within a day: so many visits begin in three weeks of the paper's thirteen."""
    demand = Locations(generated(400, 21, 1, Area()), 24.0, np.random.default_rng(1))
    assert demand.users <= 400
    assert all(len(set(row)) == 4 and user not in row for user, row in enumerate(demand.friends.tolist()))
    seen = sum(1 for step, _, _ in demand.steps() for _ in step)
    assert seen == pytest.approx(5 * (demand.visits - demand.users), rel=0.1)
    assert demand.visits > 2 * demand.users


@needs_data
def test_real_check_ins_are_read() -> None:
    found = read_checkins(DATA / "gowalla_popular_checkins.parquet", 60, Area())
    assert len(found.user) > 1000
    assert found.hour.max() <= 60 * 24
    demand = Locations(found, 24.0, np.random.default_rng(1))
    assert sum(len(topics) for _, topics, _ in demand.steps()) == len(found.user)


def test_an_area_in_cells_and_in_squares() -> None:
    for area in (Area(), Area(4)):
        centres = area.centres()
        assert area.cells == len(centres) == (20 // area.step) * (60 // area.step)
        assert area.cell_of(centres[:, 0], centres[:, 1]).tolist() == list(range(area.cells))
        assert area.square_of(area.square_centres(8), 8).tolist() == list(range(64))
    assert Area().cell_of(np.array([27.9, 48.1]), np.array([-120.0, -120.0])).tolist() == [-1, -1]
