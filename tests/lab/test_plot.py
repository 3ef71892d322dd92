"""How pictures are drawn."""

from __future__ import annotations

from pathlib import Path

from reknit.lab import plot
from reknit.lab.reduce import Estimate


def test_a_band_goes_through_the_means_in_order() -> None:
    axes = plot.new_figure(4, 3, "title").subplots()
    plot.band(axes, {3.0: Estimate(5.0, 4.0, 6.0), 1.0: Estimate(2.0, 1.0, 3.0)}, "black")
    assert axes.lines[0].get_xydata().tolist() == [[1.0, 2.0], [3.0, 5.0]]
    corners = axes.collections[0].get_paths()[0].get_extents()
    assert (corners.y0, corners.y1) == (1.0, 6.0)


def test_axes_are_labelled_with_plain_numbers(tmp_path: Path) -> None:
    figure = plot.new_figure(4, 3, "title", "subtitle")
    axes = figure.subplots()
    axes.plot([0.01, 1.0], [1.0, 2000.0])
    plot.dress(axes, "panel", "share", "messages")
    plot.as_percent(axes, [0.01, 1.0])
    plot.log_numbers(axes)
    plot.save_figure(figure, tmp_path / "figure.png")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1 %", "100 %"]
    assert "1,000" in [label.get_text() for label in axes.get_yticklabels()]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("share", "messages")
    assert (tmp_path / "figure.png").stat().st_size > 0


def test_shades_differ() -> None:
    assert len({tuple(shade) for shade in plot.shades(5)}) == 5


def test_remarks_stand_below_the_panels_and_take_nothing_from_them() -> None:
    figure = plot.new_figure(4, 3, "title")
    axes = figure.subplots()
    plot.remark(figure, ["holds here: one", "does not hold here: another"])
    figure.canvas.draw()
    below = [text for text in figure.texts if "here:" in text.get_text()]
    assert [text.get_text() for text in below] == ["holds here: one", "does not hold here: another"]
    assert figure.get_figheight() > 3
    assert all(0 < text.get_position()[1] < axes.get_position().y0 for text in below)
