"""``reknit lab``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reknit.lab import registry
from reknit.lab.experiment import Verdict
from tests.lab.coins import COINS


@pytest.fixture
def only_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "all_experiments", lambda: {"coins": COINS})


def test_the_list_and_its_json(reknit: Callable[..., Any]) -> None:
    said = reknit("lab", "list")
    assert said.code == 0
    assert "forwarding-vs-flooding" in said.out
    first = reknit("lab", "list", "--json").json[0]
    assert list(first) == ["id", "paper", "figure", "claim"]
    assert first["id"] == "camcast-fig13"


@pytest.mark.usefixtures("only_coins")
def test_run_all_and_compare(reknit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = reknit("lab", "run", "--all", "--seeds", "2", "--processes", "1", "--json")
    assert [(each["id"], each["seeds"]) for each in said.json] == [("coins", 2)]
    said = reknit("lab", "run", "--all", "--seeds", "2", "--processes", "1")
    assert (said.code, said.err) == (0, "")  # and no bar where there is no terminal
    assert said.out.startswith("coins: as claimed (2 seeds, ")
    assert (tmp_path / "out/lab/coins/figure.png").exists()
    said = reknit("lab", "compare")
    assert said.code == 0
    assert "0.5 (Figure 1)" in said.out
    assert said.out.endswith("1 experiments, 0 not as claimed\n")
    document = reknit("lab", "compare", "out/lab", "--json").json
    assert [report["id"] for report in document] == ["coins"]


@pytest.mark.usefixtures("only_coins")
def test_a_verdict_that_is_not_as_claimed_is_exit_code_1(reknit: Callable[..., Any], tmp_path: Path) -> None:
    out = str(tmp_path)
    assert reknit("lab", "run", "coins", "--seeds", "1", "--processes", "1", "--out", out).code == 0
    path = tmp_path / "coins" / "report.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "verdict": Verdict.NOT_AS_CLAIMED}))
    said = reknit("lab", "compare", out)
    assert said.code == 1
    assert said.out.endswith("1 experiments, 1 not as claimed\n")
    assert reknit("lab", "compare", out, "--json").code == 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["run", "nothing"], "no experiment is called 'nothing'; there are: coins"),
        (["run"], "name an experiment, or give --all; there are: coins"),
        (["run", "coins", "--all"], "name experiments, or give --all, not both"),
        (["run", "coins", "--scale", "huge"], "'huge' is not one of 'quick', 'paper'"),
        (["run", "coins", "--seeds", "0"], "Invalid value for '--seeds'"),
        (["run", "coins", "--processes", "1", "--out", "taken"], "--out taken: "),
        (["compare", "nowhere"], "nowhere: there is no report"),
    ],
)
@pytest.mark.usefixtures("only_coins")
def test_bad_input(
    reknit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("a file")
    said = reknit("lab", *words)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert line in said.err
