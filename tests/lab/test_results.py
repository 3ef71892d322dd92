"""Rows as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from reknit.lab.results import read_results, write_results


def test_rows_come_back(tmp_path: Path) -> None:
    rows = [
        {"name": "a", "count": 1, "share": 0.5, "right": True},
        {"name": "b", "count": 2, "share": 1.0, "right": False},
    ]
    write_results(rows, tmp_path / "rows.parquet")
    assert read_results(tmp_path / "rows.parquet") == rows


def test_rows_with_other_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rows differ in their columns"):
        write_results([{"a": 1}, {"b": 1}], tmp_path / "rows.parquet")
