"""Where on the map: cells of a grid of degrees, or of H3.

Owns: grids by name and by numbers, and which cell a place is in. Must not know: who was there.

A grid has its origin in the south-west: ``row = floor((lat - lat0) / step)``, and columns likewise; a cell's number is
``row * columns + column``. Coordinates are widened to 64 bits before any arithmetic, so that the same place is in the
same cell wherever it is computed. H3's cells cover the whole earth, so no place is outside of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from reknit.pipeline.flow import BadFlow

__all__ = ["GRIDS", "Grid", "H3Grid", "parse_grid"]

H3_RESOLUTION_MAX = 15


@dataclass(frozen=True, slots=True)
class Grid:
    lat0: float
    lon0: float
    step: float
    rows: int
    columns: int

    def row(self, lat: Column) -> Column:
        return F.floor((lat.cast("double") - F.lit(self.lat0)) / F.lit(self.step))

    def column(self, lon: Column) -> Column:
        return F.floor((lon.cast("double") - F.lit(self.lon0)) / F.lit(self.step))

    def cell(self, lat: Column, lon: Column) -> Column:
        return (self.row(lat) * F.lit(self.columns) + self.column(lon)).cast("long")

    def outside(self, lat: Column, lon: Column) -> Column:
        row, column = self.row(lat), self.column(lon)
        return (row < 0) | (row >= self.rows) | (column < 0) | (column >= self.columns)


@dataclass(frozen=True, slots=True)
class H3Grid:
    resolution: int

    def cell(self, lat: Column, lon: Column) -> Column:
        found: Column = F.udf(_h3_cell, "long", useArrow=False)(
            lat.cast("double"), lon.cast("double"), F.lit(self.resolution)
        )
        return found

    def outside(self, lat: Column, lon: Column) -> Column:
        return F.lit(False)


def _h3_cell(lat: float | None, lon: float | None, resolution: int) -> int | None:
    from h3.api.basic_int import latlng_to_cell

    if lat is None or lon is None:
        return None
    cell: int = latlng_to_cell(lat, lon, resolution)
    return cell


GRIDS = {
    "us20x60": Grid(28, -126, 1, 20, 60),
    "us25x60": Grid(25, -126, 1, 25, 60),
    "nyc26x30": Grid(40.48, -74.28, 0.02, 26, 30),
}

_NUMBERS = re.compile(r"([-+.\d]+),([-+.\d]+),([.\d]+),(\d+)x(\d+)")


def parse_grid(text: str) -> Grid | H3Grid:
    """A grid by its name, as ``LAT0,LON0,STEP,ROWSxCOLUMNS``, or as ``h3:RESOLUTION``; ``BadFlow`` if it is none."""
    if text in GRIDS:
        return GRIDS[text]
    try:
        return _h3(text) if text.startswith("h3:") else _numbers(text)
    except ValueError as error:
        known = ", ".join(GRIDS)
        raise BadFlow(f"no grid: {text!r}; give {known}, LAT0,LON0,STEP,ROWSxCOLUMNS or h3:RESOLUTION") from error


def _h3(text: str) -> H3Grid:
    resolution = int(text.removeprefix("h3:"))
    if not 0 <= resolution <= H3_RESOLUTION_MAX:
        raise ValueError(text)
    return H3Grid(resolution)


def _numbers(text: str) -> Grid:
    read = _NUMBERS.fullmatch(text)
    if read is None:
        raise ValueError(text)
    lat0, lon0, step = map(float, read.groups()[:3])
    rows, columns = int(read[4]), int(read[5])
    if not (step > 0 and rows > 0 and columns > 0):
        raise ValueError(text)
    return Grid(lat0, lon0, step, rows, columns)
