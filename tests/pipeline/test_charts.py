"""A chart is a picture, and the same rows give the same one."""

from __future__ import annotations

from pathlib import Path

from reknit.pipeline.charts import draw
from reknit.pipeline.flow import Bars

BARS = Bars("x.png", "x", "label", "value", "A title")


def test_the_same_rows_give_the_same_picture(tmp_path: Path) -> None:
    rows = [("a", 1.0), ("b", 3.0)]
    draw(BARS, rows, str(tmp_path / "one.png"))
    draw(BARS, rows, str(tmp_path / "two.png"))
    draw(BARS, [("a", 2.0), ("b", 3.0)], str(tmp_path / "other.png"))
    one, two, other = ((tmp_path / f"{name}.png").read_bytes() for name in ("one", "two", "other"))
    assert one.startswith(b"\x89PNG")
    assert one == two != other
