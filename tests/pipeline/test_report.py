"""A report accounts for every row, or says that it cannot."""

from __future__ import annotations

import pytest

from reknit.pipeline.report import InputReport, Report, RowsLost, StepReport, balance, lines

INPUT = InputReport("in", "/data", 2, {"/data/x": "cut off"}, 10, 7, {"no user": 3})


def test_every_row_is_clean_or_set_aside() -> None:
    INPUT.check()
    with pytest.raises(RowsLost, match="in: its files have 11 rows, and 10 were read"):
        InputReport("in", "/data", 2, {}, 11, 7, {"no user": 3}).check()


def test_a_step_stands_for_all_that_it_was_given() -> None:
    balance(StepReport("x", 2, 7), 7, "in")
    balance(StepReport("x", 2, None), 7, "in")
    with pytest.raises(RowsLost, match="x: in has 7 rows, and its own stand for 6"):
        balance(StepReport("x", 2, 6), 7, "in")


def test_it_reads_well() -> None:
    report = Report("f", {}, [INPUT], [StepReport("x", 2, 7), StepReport("y", 1, None)], "4.3.0")
    assert report.quarantined == 3
    assert list(lines(report)) == [
        "in   in: 10 rows in 2 files, 7 of them clean",
        "       set aside: 3  no user",
        "       broken: /data/x: cut off",
        "out  x: 2 rows, for 7 before",
        "out  y: 1 rows",
    ]
