"""``reknit change``: what was changed, and back again."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from typing import Any

import pytest

Reknit = Callable[..., Any]


def test_a_change_is_listed_shown_and_undone(reknit: Reknit, network: Any) -> None:
    done = reknit("swap", "b1", "b2", "b3", "--json").json["change"]
    row = next(line for line in reknit("change", "list").out.splitlines() if line.startswith(done))
    assert re.fullmatch(rf"{done} +swap b1 b2 b3 +\d\d:\d\d:\d\d  \d\.\d\d s  done *", row)
    shown = reknit("change", "show", done).out.splitlines()
    assert shown[0] == f"{done}: swap b1 b2 b3: done"
    assert re.fullmatch(r"  begun \d\d:\d\d:\d\d, took \d\.\d\d s; 14 messages, [\d,]+ bytes", shown[1])
    assert [line.split(":")[0] for line in shown[2:5]] == ["  b1 (mover)", "  b2 (middle)", "  b3 (goal)"]
    assert shown[5] == "  undo: reknit swap b1 b3 b2"
    assert reknit("change", "undo", done, "--dry-run").out.startswith("b1 - b3 would become b1 - b2\n")
    undone = reknit("change", "undo", done, "--verify", "--json").json
    assert (undone["steps"], undone["differences"]) == (["swap b1 b3 b2"], [])
    again = reknit("change", "undo", done)
    assert again.code == 2
    assert f"change undo {done}: b1 and b2 are linked already" in again.err
    ids = [told["id"] for told in reknit("change", "list", "--json").json]
    assert ids.index(done) < ids.index(undone["change"])


def test_no_id_is_cut_where_lines_are_short(
    reknit: Reknit, start_up: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = start_up("--brokers", "4")
    network.until_ready()
    monkeypatch.chdir(network.directory)
    monkeypatch.setenv("COLUMNS", "80")
    at_once = ("link", "replace", "b1", "b2", "--with", "b1", "b4", "--strategy", "path-batched")
    replaced = reknit(*at_once, "--json").json["change"]
    moved = reknit("link", "replace", "b1", "b4", "--with", "b1", "b2", "--json").json
    assert len(moved["changes"]) == 2
    words = reknit("change", "list").out.split()
    assert {replaced, moved["change"], *moved["changes"]} <= set(words)


def test_a_door_that_does_not_answer_is_named(reknit: Reknit, network: Any) -> None:
    door = network.state["brokers"][0]["admin"]
    said = reknit("change", "list", "--admin", door, "--admin", "http://127.0.0.1:1")
    assert said.code == 1
    assert said.err.startswith("reknit: http://127.0.0.1:1: no answer from this broker")
    assert said.err.count("\n") == 1


def test_with_stores_a_change_can_be_undone_though_all_brokers_were_killed_since(
    reknit: Reknit, start_up: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = start_up("--store", "stores")
    network.until_ready()
    monkeypatch.chdir(network.directory)
    done = reknit("swap", "b1", "b2", "b3", "--json").json["change"]
    before = {broker["name"]: broker["pid"] for broker in network.state["brokers"]}
    [told] = reknit("change", "list", "--json").json
    for _ in range(10):
        network.wait_a_little()  # the goal ends last, and keeps it when the operator has been answered
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)
    while any(before[each["name"]] == each["pid"] for each in network.state["brokers"]):
        network.wait_a_little()
    while reknit("verify-routes").code:
        network.wait_a_little()
    [again] = reknit("change", "list", "--json").json
    same = ("id", "brokers", "outcome", "undo")
    assert [told[key] for key in same] == [again[key] for key in same]
    assert again["messages"] >= told["messages"]  # the next lives may ask each other whether all of it has come
    assert abs(told["begun"] - again["begun"]) < 1.0  # by the clock on the wall
    undone = reknit("change", "undo", done, "--verify", "--json").json
    assert (undone["steps"], undone["differences"]) == (["swap b1 b3 b2"], [])
