"""What was measured before is found again, if it is of the same code; and nothing else is."""

from __future__ import annotations

import math
from pathlib import Path

from reknit.lab.experiment import Row
from reknit.lab.ledger import Ledger

POINT = {"brokers": 10, "shape": "line"}
ROW: Row = {"brokers": 10, "shape": "line", "seed": 3, "share": 0.1, "none": math.inf, "held": True}


def kept(path: Path, commit: str = "abc", scale: str = "quick") -> Ledger:
    with Ledger(path, commit, scale) as ledger:
        ledger.keep(POINT, 3, ROW)
    return ledger


def test_a_row_comes_back_as_it_was(tmp_path: Path) -> None:
    kept(tmp_path / "rows")
    with Ledger(tmp_path / "rows", "abc", "quick") as again:
        assert (len(again), again.find(dict(reversed(POINT.items())), 3)) == (1, ROW)
        assert again.find(POINT, 4) is None
    with Ledger(tmp_path / "rows", "abc", "quick") as once_more:
        assert len(once_more) == 1


def test_other_code_or_another_scale_begins_anew(tmp_path: Path) -> None:
    for commit, scale in (("def", "quick"), ("abc", "paper")):
        kept(tmp_path / "rows")
        with Ledger(tmp_path / "rows", commit, scale) as other:
            assert len(other) == 0


def test_code_with_changes_is_never_known_to_be_the_same(tmp_path: Path) -> None:
    kept(tmp_path / "rows", "abc-dirty")
    with Ledger(tmp_path / "rows", "abc-dirty", "quick") as again:
        assert len(again) == 0


def test_half_a_line_is_measured_again(tmp_path: Path) -> None:
    kept(tmp_path / "rows")
    whole = (tmp_path / "rows").read_text()
    for length in range(len(whole)):
        (tmp_path / "rows").write_text(whole[:length])
        with Ledger(tmp_path / "rows", "abc", "quick") as again:
            assert len(again) == 0


def test_nothing_is_left_of_what_is_finished(tmp_path: Path) -> None:
    with Ledger(tmp_path / "rows", "abc", "quick") as ledger:
        ledger.finish()
    assert not (tmp_path / "rows").exists()
