"""Visits of a few people, counted by hand; and of random ones, by a plain walk."""

from __future__ import annotations

import random
from datetime import datetime
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

from reknit.pipeline.checkins import CHECKINS, Window
from reknit.pipeline.visits import VISITS, _median, cells, lingers, pairs, repeats, statistics, visits
from tests.pipeline.tables import TWO_PEOPLE, at

US = Window()
SMALL = Window("0,0,1,3x3")


def rows_of(frame: Any, *order: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.orderBy(*order).collect()]


def test_two_people(spark: SparkSession) -> None:
    stays = visits(US, spark.createDataFrame(TWO_PEOPLE, CHECKINS.schema))
    plain = [(row[0], row[1], row[2], row[5], row[6], row[7]) for row in rows_of(stays, "user_id", "visit")]
    home, north = 2 * 60 + 25, 3 * 60 + 25
    assert plain == [(1, 1, home, 2, 3, 30 * 3600.0), (1, 2, north, 1, 1, None), (2, 1, home, 1, 1, None)]


def test_figures_and_statistics_of_two_people(spark: SparkSession) -> None:
    stays = visits(US, spark.createDataFrame(TWO_PEOPLE, CHECKINS.schema))
    both = pairs(US, stays)
    where = cells(US, both)
    assert [(row[1], row[2], row[3]) for row in rows_of(where, "cell")] == [(2, 2, 3), (1, 1, 1)]
    assert [row[1] for row in rows_of(repeats(US, both), "place")] == [3, 0, 0, 0, 0]
    assert [row[1] for row in rows_of(lingers(US, stays), "place")] == [0, 0, 1, 0]
    found = dict(rows_of(statistics(US, stays, both, where), "statistic"))
    assert found["checkins"] == 4  # a copy counts once
    assert (found["visits"], found["open_visits"], found["users"]) == (3, 2, 2)
    assert found["linger_median_s_closed"] == 30 * 3600.0
    # Closed at the latest check-in: the second visit of user 1 lasts for nothing, that of user 2 for 28 hours.
    assert (found["share_linger_lt_1d_closed"], found["share_linger_lt_1d_all"]) == (0.0, 1 / 3)


def walk(rows: list[tuple[int, datetime, float, float]]) -> list[tuple[int, int, int, int, float | None]]:
    """User, cell, check-ins, rows, linger of each visit, by the definition."""
    found: list[list[Any]] = []
    before: tuple[Any, ...] = (None,)
    for row in sorted(rows):
        user, ts, lat, lon = row
        cell = int(lat) * 3 + int(lon)
        if found and found[-1][0] == user and found[-1][1] == cell:
            found[-1][2] += row != before
            found[-1][3] += 1
        else:
            if found and found[-1][0] == user:
                found[-1][5] = (ts - found[-1][4]).total_seconds()
            found.append([user, cell, 1, 1, ts, None])
        before = row
    return [(user, cell, checkins, rows, linger) for user, cell, checkins, rows, _, linger in found]


def test_random_people_by_a_plain_walk(spark: SparkSession) -> None:
    rng = random.Random(7)
    given = [
        (rng.randint(1, 9), at(rng.randint(0, 40)), rng.choice((0.5, 1.25, 2.5)), rng.choice((0.5, 1.25, 2.75)))
        for _ in range(400)
    ]
    stays = visits(SMALL, spark.createDataFrame(given, CHECKINS.schema))
    plain = [(row[0], row[2], row[5], row[6], row[7]) for row in rows_of(stays, "user_id", "visit")]
    assert plain == walk(given)


def test_the_median_is_exact_wherever_it_lies(spark: SparkSession) -> None:
    """Of odd and even numbers, with the two in the middle in one hour, in two, and days apart; and of none."""
    for lingers_s in (
        [5.0],
        [1.0, 3601.0],
        [10.0, 20.0, 7200.5],
        [1.0, 2.0, 1e6, 2e6],
        [3600.0] * 4,
        [0.1 * n for n in range(50)],
    ):
        rows = [(1, number, 7, at(0), at(0), 1, 1, linger) for number, linger in enumerate([*lingers_s, None], 1)]
        found = _median(spark.createDataFrame(rows, VISITS)).collect()
        assert [row[0] for row in found] == [median(lingers_s)]
    assert _median(spark.createDataFrame(rows[-1:], VISITS)).collect()[0][0] is None
