"""Reports as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from reknit.lab.experiment import Scale
from reknit.lab.report import BadReport, make_report, read_report, read_reports, write_report
from tests.lab.coins import COINS, points, reduce

ROWS = [{"heads": 0.5}, {"heads": 0.75}]


def test_reports_are_found_in_the_order_of_their_ids(tmp_path: Path) -> None:
    report = make_report(COINS, reduce(ROWS), Scale.QUICK, points(Scale.QUICK), 1, "abc", 1.26)
    for directory, name in (("x", "second"), ("y", "first")):
        (tmp_path / directory).mkdir()
        write_report(type(report)(**{**_fields(report), "id": name}), tmp_path / directory / "report.json")
    assert [each.id for each in read_reports(tmp_path)] == ["first", "second"]
    assert read_report(tmp_path / "x" / "report.json").seconds == 1.3


def test_parameters_are_in_order_whatever_the_order_of_the_points() -> None:
    taken = [{"throws": 16, "coin": "fair"}, {"throws": 4, "coin": "bent"}, {"throws": 9.5, "coin": "fair"}]
    report = make_report(COINS, reduce(ROWS), Scale.QUICK, taken, 1, "abc", 1.26)
    assert list(report.parameters.items()) == [("coin", ["bent", "fair"]), ("throws", [4, 9.5, 16])]


def _fields(report: object) -> dict[str, object]:
    return {name: getattr(report, name) for name in report.__struct_fields__}  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", [b"", b"[]", b'{"id": "coins"}', b"\xff\xfe", b'{"id": 3}'])
def test_what_is_no_report_is_named(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "coins" / "report.json"
    path.parent.mkdir()
    path.write_bytes(text)
    with pytest.raises(BadReport, match=r"report\.json: "):
        read_reports(tmp_path)


def test_no_report_at_all(tmp_path: Path) -> None:
    with pytest.raises(BadReport, match="there is no report"):
        read_reports(tmp_path / "nowhere")
