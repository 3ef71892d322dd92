"""What cannot be a window is refused; tests/pipeline/flows/test_traffic.py holds the tables to plain counts."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from reknit.pipeline.flow import BadFlow
from reknit.pipeline.trace import TRACE
from reknit.pipeline.traffic import Watched, loads


def test_a_window_has_a_length(spark: SparkSession) -> None:
    with pytest.raises(BadFlow, match=r"window_s is 0\.0: it has to be larger than 0"):
        loads(Watched(window_s=0.0), spark.createDataFrame([], TRACE.schema))
