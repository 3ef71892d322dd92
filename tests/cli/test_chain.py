"""Chains of moves between real processes: two that overlap, and one whose command is killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reknit.cli._changes import perform

Reknit = Callable[..., Any]

WHOLE = 5


@pytest.fixture
def five(start_up: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Brokers in a line; the test is in their directory."""
    network = start_up("--brokers", str(WHOLE), "--shape", "line")
    network.until_ready()
    monkeypatch.chdir(network.directory)
    return network


def links(reknit: Reknit) -> list[tuple[str, str]]:
    return [(link["a"], link["b"]) for link in reknit("topology", "--json").json["links"]]


def begin(where: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "reknit", *words]
    return subprocess.Popen(command, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until_line(process: subprocess.Popen[str], beginning: str) -> None:
    assert process.stderr is not None
    while not (line := process.stderr.readline()).startswith(beginning):
        assert line, process.wait()


def test_a_chain_goes_on_when_somebody_changes_the_tree_in_the_middle_of_it(
    reknit: Reknit, five: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reknit("link", "replace", "b1", "b2", "--with", "b1", "b5").code == 0
    make, made = perform.make, list[str]()

    def with_another(operator: Any, deed: Any, of: str) -> str:
        if len(made) == 1:
            other = begin(five.directory, "swap", "b3", "b4", "b5")
            said = other.communicate()
            assert other.returncode == 0, said
        made.append(str(deed))
        return make(operator, deed, of)

    with monkeypatch.context() as patch:
        patch.setattr(perform, "make", with_another)
        said = reknit("link", "replace", "b1", "b5", "--with", "b1", "b2", "--verify", "--json")
    assert said.code == 0, said.err
    assert "what is left is planned anew on the tree as it is now, try 1 of 5" in said.err
    done = said.json
    assert done["steps"] == ["swap b1 b5 b4", "swap b1 b4 b5", "swap b1 b5 b3", "swap b1 b3 b2"]
    assert done["differences"] == []
    assert links(reknit) == [("b1", "b2"), ("b2", "b3"), ("b3", "b5"), ("b4", "b5")]
    assert reknit("change", "undo", done["change"], "--verify").code == 0
    assert ("b1", "b5") in links(reknit)


def test_two_chains_that_overlap_come_both_to_their_end(reknit: Reknit, five: Any) -> None:
    one = begin(five.directory, "link", "replace", "b1", "b2", "--with", "b1", "b5")
    other = begin(five.directory, "link", "replace", "b4", "b5", "--with", "b2", "b5")
    ended = [process.communicate() for process in (one, other)]
    assert (one.returncode, other.returncode) == (0, 0), ended
    assert links(reknit) == [("b1", "b5"), ("b2", "b3"), ("b2", "b5"), ("b3", "b4")]
    assert reknit("verify-routes").code == 0


def break_off(five: Any, number: signal.Signals) -> tuple[int, str]:
    """Send the signal to a command whose second step of three waits for a broker that is stopped; how does it end?"""
    others = [
        word for broker in five.state["brokers"] if broker["name"] != "b4" for word in ("--admin", broker["admin"])
    ]
    pid = next(broker["pid"] for broker in five.state["brokers"] if broker["name"] == "b4")
    os.kill(pid, signal.SIGSTOP)
    try:
        command = begin(five.directory, "link", "replace", "b1", "b2", "--with", "b1", "b5", *others)
        until_line(command, "2 of 3")
        until_line(command, "  ")  # it was asked for, and takes long
        command.send_signal(number)
        _, err = command.communicate()
    finally:
        os.kill(pid, signal.SIGCONT)
    return command.returncode, err


def test_a_chain_whose_command_is_killed_is_resumed_as_the_same_change(reknit: Reknit, five: Any) -> None:
    break_off(five, signal.SIGKILL)
    whole = reknit("change", "list", "--json").json[0]["of"]
    resumed = reknit("change", "resume", whole[:12], "--json")
    assert resumed.code == 0, resumed.err
    assert (resumed.json["change"], resumed.json["differences"]) == (whole, [])
    assert resumed.json["steps"][-1] == "swap b1 b4 b5"
    assert ("b1", "b5") in links(reknit)
    known = [told for told in reknit("change", "list", "--json").json if told["of"] == whole and told["undo"]]
    assert [told["brokers"][2] for told in known] == ["b3", "b4", "b5"]
    again = reknit("change", "resume", whole)
    assert (again.code, "nothing is left of it" in again.err) == (2, True)
    assert reknit("change", "undo", whole, "--verify").code == 0
    assert links(reknit) == [("b1", "b2"), ("b2", "b3"), ("b3", "b4"), ("b4", "b5")]


def test_a_chain_goes_on_though_the_broker_that_was_asked_has_died(reknit: Reknit, five: Any) -> None:
    pids = {broker["name"]: broker["pid"] for broker in five.state["brokers"]}
    others = [
        word for broker in five.state["brokers"] if broker["name"] != "b4" for word in ("--admin", broker["admin"])
    ]
    os.kill(pids["b4"], signal.SIGSTOP)
    try:
        command = begin(five.directory, "link", "replace", "b1", "b2", "--with", "b1", "b5", *others)
        until_line(command, "2 of 3")
        until_line(command, "  ")
        os.kill(pids["b1"], signal.SIGKILL)
        until_line(command, "  waiting: ")
    finally:
        os.kill(pids["b4"], signal.SIGCONT)
    said = command.communicate()
    assert command.returncode == 0, said
    assert ("b1", "b5") in links(reknit)
    whole = said[0].split()[-1]
    undone = reknit("change", "undo", whole, "--verify")  # the others remember the step that b1 has forgotten
    assert undone.code == 0, undone.err
    assert links(reknit) == [("b1", "b2"), ("b2", "b3"), ("b3", "b4"), ("b4", "b5")]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_who_ends_the_command_is_told_how_far_it_is_and_both_ways(
    reknit: Reknit, five: Any, number: signal.Signals, code: int
) -> None:
    ended, err = break_off(five, number)
    assert ended == code, err
    *way, on, back = err.splitlines()[-1].split("; ")
    assert way[:2] == ["reknit: interrupted", "1 of 3 steps are done"]
    assert on.startswith("to go on: reknit change resume replace.")
    assert back == on.replace("to go on", "to go back").replace("resume", "undo")
    undone = reknit(*back.split()[4:], "--verify")
    assert undone.code == 0, undone.err
    assert links(reknit) == [("b1", "b2"), ("b2", "b3"), ("b3", "b4"), ("b4", "b5")]
