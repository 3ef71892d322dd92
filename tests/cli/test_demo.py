"""``reknit demo``: a small one is clean, leaves nothing behind, and refuses what it cannot do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reknit.trace.records import Kind
from reknit.trace.store import read_trace


def test_a_small_one_is_clean_and_keeps_its_trace(reknit: Callable[..., Any], tmp_path: Path) -> None:
    said = reknit("demo", "--brokers", "3", "--events", "300", "--keep", str(tmp_path / "kept"), "--json")
    assert said.code == 0, said.out + said.err
    outcome = said.json
    assert outcome["clean"] is True
    for verdict in (outcome["trace"], outcome["clients"]):
        assert verdict["owed"] > 0
        assert verdict["faults"] == []
    assert outcome["clients"]["events"] == 300
    assert len(outcome["away"]["clients"]) == 4
    assert 0 < outcome["traffic"]["forwarded"] < outcome["traffic"]["flooded"]
    kinds = [record.kind for record in read_trace(tmp_path / "kept" / "trace")]
    assert [kinds.count(kind) for kind in (Kind.STARTED, Kind.CRASHED, Kind.CALM)] == [4, 1, 3]
    assert [each.name for each in (tmp_path / "kept").iterdir()] == ["trace"]


def test_it_tells_its_story_in_plain_lines(reknit: Callable[..., Any]) -> None:
    said = reknit("demo", "--brokers", "3", "--events", "100", "--seed", "3")
    assert said.code == 0, said.out + said.err
    for part in ("3 brokers, each a process", "12 clients (", "an event: city/", "killed b", "healed: b", "% saved"):
        assert part in said.out
    assert said.out.count("lost 0  duplicated 0  out of order 0  unwanted 0\n") == 2
    assert "\x1b" not in said.out
    assert said.err == ""


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--events", "1"], "'--events': Input should be greater than or equal to 100"),
        (["--brokers", "2"], "'--brokers': Input should be greater than or equal to 3"),
        (["--keep", "used"], "used/trace is there already"),
        (["--keep", "file"], "--keep: file: File exists"),
    ],
)
def test_bad_input(
    reknit: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("used/trace").mkdir(parents=True)
    Path("file").touch()
    said = reknit("demo", *words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert line in said.err
