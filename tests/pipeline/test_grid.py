"""Which cell a place is in."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from reknit.pipeline.flow import BadFlow, columns
from reknit.pipeline.grid import GRIDS, Grid, H3Grid, parse_grid


def test_cells_are_counted_from_the_south_west(spark: SparkSession) -> None:
    grid = parse_grid("10,20,0.5,2x3")
    places = [(10.0, 20.0, 0, False), (10.5, 21.49, 5, False), (10.99, 20.5, 4, False)]
    places += [(9.99, 20.0, None, True), (11.0, 20.0, None, True), (10.0, 21.5, None, True), (10.0, 19.99, None, True)]
    rows = spark.createDataFrame(places, columns(lat="double", lon="double", cell="long", outside="bool"))
    lat, lon = F.col("lat"), F.col("lon")
    for row in rows.select("*", grid.cell(lat, lon).alias("got"), grid.outside(lat, lon).alias("out")).collect():
        assert row["out"] == row["outside"]
        assert row["outside"] or row["got"] == row["cell"]


def test_h3_numbers_every_place(spark: SparkSession) -> None:
    import h3

    grid = parse_grid("h3:5")
    rows = spark.createDataFrame([(52.5, 13.4), (-33.9, 151.2)], columns(lat="double", lon="double"))
    found = rows.select(grid.cell(F.col("lat"), F.col("lon")).alias("cell")).collect()
    assert [h3.int_to_str(row["cell"]) for row in found] == [
        h3.latlng_to_cell(52.5, 13.4, 5),
        h3.latlng_to_cell(-33.9, 151.2, 5),
    ]
    assert rows.where(grid.outside(F.col("lat"), F.col("lon"))).count() == 0


def test_grids_are_named_or_given_by_numbers() -> None:
    assert parse_grid("us20x60") == GRIDS["us20x60"] == Grid(28, -126, 1, 20, 60)
    assert parse_grid("-1.5,+2,.25,4x8") == Grid(-1.5, 2, 0.25, 4, 8)
    assert parse_grid("h3:7") == H3Grid(7)


@pytest.mark.parametrize("text", ["", "us", "1,2,0,3x4", "1,2,1,0x4", "1,2,1,3", "h3:16", "h3:x", "1,2,1.2.3,3x3"])
def test_what_is_no_grid_is_refused(text: str) -> None:
    with pytest.raises(BadFlow, match="no grid"):
        parse_grid(text)
