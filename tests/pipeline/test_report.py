"""A report accounts for every row, or says that it cannot."""

from __future__ import annotations

import pytest

from reknit.pipeline.report import InputReport, Report, RowsLost, StepReport, balance, lines, refuse_gaps

INPUT = InputReport("in", "/data", 2, {"/data/x": "cut off"}, 10, 7, {"no user": 3}, {"b2": 5, "b1": 7})


def test_every_row_is_clean_or_set_aside() -> None:
    INPUT.check()
    with pytest.raises(RowsLost, match="in: its files have 11 rows, and 10 were read"):
        InputReport("in", "/data", 2, {}, 11, 7, {"no user": 3}).check()


def test_a_step_stands_for_all_that_it_was_given() -> None:
    balance(StepReport("x", 2, 7), 7, "in")
    balance(StepReport("x", 2, None), 7, "in")
    with pytest.raises(RowsLost, match="x: in has 7 rows, and its own stand for 6"):
        balance(StepReport("x", 2, 6), 7, "in")
    balance(StepReport("x", 2, 4, "cats"), 7, "in", left_out=3)
    with pytest.raises(RowsLost, match="x: in has 7 cats, and its own stand for 5, and it has left out 3"):
        balance(StepReport("x", 2, 5, "cats"), 7, "in", left_out=3)


def test_what_was_never_written_is_said_with_the_way_out() -> None:
    refuse_gaps("trace", {})
    with pytest.raises(RowsLost) as raised:
        refuse_gaps("trace", {f"b{number}": 1000 + number for number in range(1, 8)})
    assert str(raised.value) == (
        "trace: it says itself that records are missing in it (b1: 1,001, b2: 1,002, b3: 1,003, b4: 1,004, b5: 1,005, "
        "and of 2 others), so what is counted would be wrong; `reknit pipeline` and `reknit plan` make tables of what "
        "there is with --allow-gaps"
    )


def test_it_reads_well() -> None:
    report = Report("f", {}, [INPUT], [StepReport("x", 2, 7), StepReport("y", 1, 5, "cats", {"dogs": 2})], "4.3.0")
    assert report.quarantined == 3
    assert list(lines(report)) == [
        "in   in: 10 rows in 2 files, 7 of them clean",
        "       missing: 12  never written (b1: 7, b2: 5)",
        "       set aside: 3  no user",
        "       broken: /data/x: cut off",
        "out  x: 2 rows, for 7 before",
        "out  y: 1 rows, for 5 cats before",
        "       left out: 2  dogs",
    ]
