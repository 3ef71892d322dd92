"""``reknit demo``: a small one is clean, leaves nothing behind, and refuses what it cannot do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reknit.cli._demo.play import Audience, Outcome, Script
from reknit.cli._demo.verdict import Away, Traffic, Verdict
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
    assert [kinds.count(kind) for kind in (Kind.STARTED, Kind.CRASHED, Kind.CALM)] == [5, 1, 4]
    assert kinds.count(Kind.LINK_MOVED) == kinds.count(Kind.LINK_TAKEN) == len(outcome["swaps"]) == 7
    assert outcome["added"] == "b4"
    assert [each.name for each in (tmp_path / "kept").iterdir()] == ["trace"]


@pytest.mark.long
def test_it_tells_its_story_in_plain_lines(reknit: Callable[..., Any]) -> None:
    said = reknit("demo", "--brokers", "3", "--events", "100", "--seed", "3")
    assert said.code == 0, said.out + said.err
    for part in (
        "3 brokers, each a process",
        "12 clients (",
        "an event: city/",
        "killed b",
        "healed: b",
        "swapped in ",
        "added in ",
        "% saved",
    ):
        assert part in said.out
    assert said.out.count("lost 0  duplicated 0  out of order 0  unwanted 0\n") == 2
    assert "\x1b" not in said.out
    assert said.err == ""


def test_what_is_not_clean_is_said_and_is_exit_code_1(
    reknit: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lossy = Outcome(
        seed=1,
        links=[("b1", "b2")],
        killed="b1",
        back_s=1.0,
        trace=Verdict(owed=3, lost=1, faults=["('b1.1', 7) never reached c1"]),
        clients=Verdict(owed=3),
        away=Away([], 0, 0, 0),
        traffic=Traffic(0, 0, 0, {}),
        delay_s={"half": 0.1, "most": 0.2, "all": 0.3},
    )

    async def play(script: Script, audience: Audience) -> Outcome:
        return lossy

    monkeypatch.setattr("reknit.cli._demo.play.play", play)
    said = reknit("demo")
    assert said.code == 1
    assert "lost 1  duplicated 0" in said.out
    assert "('b1.1', 7) never reached c1" in said.out
    assert "NOT CLEAN" in said.out


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
