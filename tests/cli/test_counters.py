"""``reknit counters``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def test_what_each_broker_has_counted(reknit: Callable[..., Any], network: Any) -> None:
    document = reknit("counters", "--json").json
    assert list(document) == ["b1", "b2", "b3"]
    assert document["b2"]["neighbours"]["b1"]["ups"] >= 1
    said = reknit("counters")
    assert said.code == 0
    assert "\n  shell.turns " in said.out
    assert " 0\n" not in said.out
    assert "\n  shell.failures 0\n" in reknit("counters", "--all").out


def test_one_broker_by_its_operators_door(reknit: Callable[..., Any], network: Any) -> None:
    said = reknit("counters", "--admin", network.state["brokers"][1]["admin"])
    assert said.out.splitlines()[0] == "b2"
    silent = reknit("counters", "--admin", "http://127.0.0.1:1")
    assert (silent.code, silent.err.count("\n")) == (1, 1)
