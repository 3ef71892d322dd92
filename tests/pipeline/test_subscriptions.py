"""Friends that are drawn, and interests without gaps."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from datetime import datetime

import pytest
from pyspark.sql import SparkSession

from reknit.pipeline.flow import BadFlow
from reknit.pipeline.quarantine import count_reasons, mark
from reknit.pipeline.subscriptions import STAYS, VISITED, Following, friends, interests
from tests.pipeline.tables import at


def test_friends_are_different_others_and_the_same_for_a_seed(spark: SparkSession) -> None:
    users = [3 * number for number in range(20)]
    visits = spark.createDataFrame([(user, 1, at(0), None) for user in users], VISITED.schema).cache()

    def drawn(seed: int, count: int = 4) -> list[tuple[int, int]]:
        return sorted(map(tuple, friends(Following(count, seed), visits.repartition(2 - seed % 2), None).collect()))

    found = drawn(1)
    assert Counter(user for user, _ in found) == dict.fromkeys(users, 4)
    assert len(set(found)) == len(found)
    assert [user for user, friend in found if user == friend] == []
    assert found != drawn(2)
    assert max(Counter(friend for _, friend in found).values()) < 14  # nobody is everybody's friend
    assert Counter(user for user, _ in drawn(0, 1000)) == dict.fromkeys(users, 19)
    with pytest.raises(BadFlow, match="friends is -1"):
        drawn(0, -1)
    visits.unpersist()


def test_nobody_has_to_see_all_users_to_draw_friends(spark: SparkSession) -> None:
    """However they are partitioned the draw is the same, and no window goes over all of them."""
    visits = spark.range(500).selectExpr("7 * id AS user_id", "1L AS cell", "now() AS start", "1D AS linger_s")
    drawn = [sorted(map(tuple, friends(Following(), visits.repartition(count), None).collect())) for count in (1, 3, 7)]
    assert drawn[0] == drawn[1] == drawn[2]
    assert len(set(drawn[0])) == 4 * 500
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        friends(Following(), visits, None).explain()
    assert "Window" in printed.getvalue()
    assert "SinglePartition" not in printed.getvalue()


def test_stays_that_overlap_or_touch_are_one_interest(spark: SparkSession) -> None:
    rows: list[tuple[int, int, datetime, datetime | None, int]] = [
        (1, 7, at(0), at(5), 1),
        (1, 7, at(1), at(2), 0),  # within
        (1, 7, at(5), at(6), 0),  # touches
        (1, 7, at(8), at(9), 1),
        (1, 7, at(20), None, 1),
        (1, 7, at(30), at(31), 0),  # within one that has no end
        (1, 8, at(0), at(5), 1),
        (2, 7, at(4), at(7), 1),
    ]
    found = interests(Following(), spark.createDataFrame(rows, STAYS))
    naive = [
        (row["user_id"], row["cell"], row["since"].hour, row["until"] and row["until"].hour, row["stays"])
        for row in found.orderBy("user_id", "cell", "since").collect()
    ]
    assert naive == [(1, 7, 0, 6, 3), (1, 7, 8, 9, 1), (1, 7, 20, None, 2), (1, 8, 0, 5, 1), (2, 7, 4, 7, 1)]


def test_visits_that_no_clock_can_tell_are_set_aside(spark: SparkSession) -> None:
    lingers = (None, 60.0, -1.0, float("nan"), float("inf"), 1e300)
    visits = spark.createDataFrame([(1, 1, at(0), linger) for linger in lingers], VISITED.schema)
    marked = mark(visits, VISITED.rules(Following()))
    assert count_reasons(marked) == {"": 2, "ends before it starts": 1, "impossible linger time": 3}
