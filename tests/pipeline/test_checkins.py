"""Which check-ins are bad, and why."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from reknit.pipeline.checkins import CHECKINS, Window, moment, rules
from reknit.pipeline.flow import BadFlow
from reknit.pipeline.quarantine import count_reasons, mark
from tests.pipeline.tables import at

NAN = float("nan")


def test_each_kind_of_bad_check_in_is_known(spark: SparkSession) -> None:
    given = [
        (1, at(1), 30.0, -100.0),
        (None, at(1), 30.0, -100.0),
        (1, None, 30.0, -100.0),
        (1, at(1), None, -100.0),
        (1, at(1), 30.0, NAN),
        (1, at(1), 90.5, -100.0),
        (1, at(1), 30.0, -180.5),
        (1, at(-1), 30.0, -100.0),
        (1, at(24), 30.0, -100.0),
        (1, at(1), 10.0, -100.0),
    ]
    rows = spark.createDataFrame(given, CHECKINS.schema)
    window = Window("us20x60", "2010-08-01", "2010-08-02")
    assert count_reasons(mark(rows, rules(window))) == {
        "": 1,
        "no user": 1,
        "no time": 1,
        "no place": 2,
        "impossible coordinates": 2,
        "outside of the time": 2,
        "outside of the grid": 1,
    }


def test_moments_are_utc_unless_they_say_otherwise() -> None:
    assert moment("2010-08-01") == datetime(2010, 8, 1, tzinfo=UTC)
    assert moment("2010-08-01T02:00:00+02:00") == datetime(2010, 8, 1, tzinfo=UTC)
    with pytest.raises(BadFlow, match="no moment: 'soon'"):
        moment("soon")
