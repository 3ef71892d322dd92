"""Check-ins: who was where, when; which of them are none.

Owns: the columns of a check-in and the rules for a bad one. Must not know: what is made of them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pyspark.sql import Column
from pyspark.sql import functions as F

from reknit.pipeline.flow import BadFlow, Input, Parameters, Rule, columns, told
from reknit.pipeline.grid import parse_grid

__all__ = ["CHECKINS", "Window", "moment", "rules"]

LAT_MAX = 90.0
LON_MAX = 180.0


class Window(Parameters, frozen=True, rename={"since": "from", "until": "to"}):
    """Where and when: what is outside is set aside."""

    grid: Annotated[str, told("a grid by its name, as LAT0,LON0,STEP,ROWSxCOLUMNS, or as h3:RESOLUTION")] = "us20x60"
    since: Annotated[str, told("the first moment, as 2010-08-01 or 2010-08-01T12:00:00; UTC")] = ""
    until: Annotated[str, told("the first moment that is too late")] = ""


def moment(text: str) -> datetime:
    """A date, or a date and a time; UTC if it does not say otherwise."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadFlow(f"no moment: {text!r}; write it as 2010-08-01 or 2010-08-01T12:00:00") from error
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


def rules(window: Window) -> tuple[Rule, ...]:
    lat, lon = F.col("lat"), F.col("lon")
    grid = parse_grid(window.grid)
    return (
        Rule("no user", F.col("user_id").isNull()),
        Rule("no time", F.col("ts").isNull()),
        Rule("no place", lat.isNull() | lon.isNull() | F.isnan(lat) | F.isnan(lon)),
        Rule("impossible coordinates", (F.abs(lat) > LAT_MAX) | (F.abs(lon) > LON_MAX)),
        Rule("outside of the time", _outside(window)),
        Rule("outside of the grid", grid.outside(lat, lon)),
    )


def _outside(window: Window) -> Column:
    early = F.col("ts") < F.lit(moment(window.since)) if window.since else F.lit(False)
    late = F.col("ts") >= F.lit(moment(window.until)) if window.until else F.lit(False)
    return early | late


CHECKINS = Input(
    name="checkins",
    about="who was where, when",
    schema=columns(user_id="long", ts="timestamp", lat="double", lon="double"),
    rules=rules,
)
