"""One Spark session for all tests, and all of them in one process: a second session would cost as much as the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from reknit.pipeline.session import Place, session
from tests.pipeline.places import QUICK

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    place = Place(master="local[2]", memory="1g", java_options=QUICK, further=SMALL)
    with session(place) as made:
        yield made


SMALL = (
    ("spark.sql.shuffle.partitions", "2"),
    ("spark.sql.codegen.wholeStage", "false"),
    ("spark.sql.codegen.factoryMode", "NO_CODEGEN"),
)
"""For tables of a few rows, where compiling a query takes longer than running it."""
