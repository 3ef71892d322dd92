"""One Spark session for all tests; ``tests/conftest.py`` sees to it that all of them run in one process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from reknit.pipeline.session import Place, session
from tests.pipeline.places import QUICK

LIMIT_S = 900
"""For one test, the start of Spark included: where the machine is busy with others, that alone may take minutes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(LIMIT_S))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    place = Place(master="local[2]", memory="1g", java_options=QUICK, further=SMALL)
    with session(place) as made:
        yield made


SMALL = (
    ("spark.sql.shuffle.partitions", "2"),
    ("spark.sql.codegen.wholeStage", "false"),
    ("spark.sql.codegen.factoryMode", "NO_CODEGEN"),
    ("spark.sql.adaptive.enabled", "false"),
    ("spark.sql.streaming.noDataMicroBatches.enabled", "false"),
)
"""For tables of a few rows, where compiling a query takes longer than running it."""
