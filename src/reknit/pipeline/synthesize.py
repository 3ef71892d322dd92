"""Check-ins of a crowd that does not exist, at the scale of DYNATOPS or any other; and how well it fits.

Owns: laying the crowd out in partitions, and the published numbers. Must not know: what one person does (see
``population``).

Each partition makes the check-ins of its people by itself, a few thousand people at a time; nothing is shuffled, and
nothing depends on the partitions but how much is done at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from reknit.pipeline.checkins import CHECKINS, Window, moment
from reknit.pipeline.flow import BadFlow, columns, told
from reknit.pipeline.grid import Grid, parse_grid
from reknit.pipeline.population import World, checkins_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FIT", "PUBLISHED", "Crowd", "checkins", "fit", "people", "world_of"]

PEOPLE = 40_000
"""At scale 1, as in the paper."""
PEOPLE_PER_PARTITION = 5_000
PEOPLE_AT_ONCE = 2_500
"""How many a worker has in its memory: about 190,000 check-ins."""
DAYS_MIN = 60
"""A shorter window has no room for the visits that people make."""
CELLS_MIN = 100


class Crowd(Window, frozen=True, rename={"since": "from", "until": "to"}):
    since: Annotated[str, told("the first moment, as 2010-08-01; UTC")] = "2010-08-01"
    until: Annotated[str, told("the first moment that is too late")] = "2010-11-01"
    scale: Annotated[float, told("how many times the people of the paper's trace, 40,000")] = 1.0
    seed: Annotated[int, told("another one is another crowd")] = 0
    partitions: Annotated[int, told("into how many the work is cut; 0: 5,000 people each. It changes no row")] = 0


def people(told: Crowd) -> int:
    if not told.scale > 0 or not math.isfinite(told.scale):
        raise BadFlow(f"scale is {told.scale}: it has to be larger than 0")
    return max(1, round(PEOPLE * told.scale))


def world_of(told: Crowd) -> World:
    grid = parse_grid(told.grid)
    if not isinstance(grid, Grid) or grid.rows * grid.columns < CELLS_MIN:
        raise BadFlow(f"grid is {told.grid}: people are made for a grid of degrees with {CELLS_MIN} cells or more")
    begin, end = (round(moment(text).timestamp() * 1000) for text in (told.since, told.until))
    if end - begin < DAYS_MIN * 86_400_000:
        raise BadFlow(f"from {told.since} to {told.until}: the window must have {DAYS_MIN} days or more")
    return World(told.seed, grid.lat0, grid.lon0, grid.step, grid.rows, grid.columns, begin, end)


def checkins(told: Crowd) -> DataFrame:
    world, count = world_of(told), people(told)
    partitions = told.partitions or -(-count // PEOPLE_PER_PARTITION)
    if partitions < 1:
        raise BadFlow(f"partitions is {told.partitions}: it has to be 0 or more")

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for at in range(0, batch.num_rows, PEOPLE_AT_ONCE):
                yield arrow_of(world, batch.column(0).slice(at, PEOPLE_AT_ONCE))

    numbers = SparkSession.active().range(1, count + 1, 1, partitions)
    return numbers.mapInArrow(make, CHECKINS.schema).select(*CHECKINS.schema.fieldNames())


def arrow_of(world: World, users: pa.Array) -> pa.RecordBatch:
    import pyarrow as pa

    made = checkins_of(world, users.to_numpy())
    moments = pa.array(made.ts_ms * 1000, pa.timestamp("us", "UTC"))
    arrays = [pa.array(made.user_id, pa.int64()), moments, pa.array(made.lat), pa.array(made.lon)]
    return pa.RecordBatch.from_arrays(arrays, names=CHECKINS.schema.fieldNames())


# --- how well it fits

COUNTS = {"users": float(PEOPLE), "checkins": 3e6, "visits": 450e3, "unique_pairs": 160e3}
"""Of section 6.1.1, for its own trace; they grow with the scale."""
SHARES = {
    "cells_used": 1200.0,
    "share_pairs_once": 1 / 3,
    "share_linger_lt_1d_all": 0.5,
    "share_linger_gt_7d_all": 0.1,
    "share_linger_lt_1d_closed": 0.5,
    "share_linger_gt_7d_closed": 0.1,
}
"""Those that do not; the paper does not say whether visits that have not ended count among them."""
PUBLISHED = COUNTS | SHARES

FIT = columns(statistic="string", published="double", measured="double", off="double")
"""``off``: the difference, as a part of what was published."""


def fit(told: Crowd, statistics: DataFrame) -> DataFrame:
    """What the paper says beside what ``visits`` finds in these check-ins."""
    scale = people(told) / PEOPLE
    said = [(name, value * (scale if name in COUNTS else 1.0)) for name, value in PUBLISHED.items()]
    published = statistics.sparkSession.createDataFrame(said, "statistic string, published double")
    found = published.join(statistics.withColumnRenamed("value", "measured"), "statistic", "left")
    off = (F.col("measured") - F.col("published")) / F.col("published")
    return found.withColumn("off", off).orderBy("statistic").select(*FIT.fieldNames())
