"""``reknit topology``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reknit.cli.topology import edges_of


def test_the_tree_and_its_json(reknit: Callable[..., Any], network: Any) -> None:
    said = reknit("topology")
    lines = [line.partition("  mqtt")[0] for line in said.out.splitlines()]
    assert lines == ["b1", "└── b2", "    └── b3"]
    document = reknit("topology", "--json").json
    assert document["links"] == [{"a": "b1", "b": "b2", "up": True}, {"a": "b2", "b": "b3", "up": True}]
    assert [broker["name"] for broker in document["brokers"]] == ["b1", "b2", "b3"]


def test_one_broker_by_its_operators_door(reknit: Callable[..., Any], network: Any) -> None:
    said = reknit("topology", "--admin", network.state["brokers"][0]["admin"] + "/", "--json")
    assert said.json["links"] == [{"a": "b1", "b": "b2", "up": True}]


def test_a_link_is_up_if_both_ends_say_so() -> None:
    one = {"name": "a", "neighbours": {"b": {"up": True}, "c": {"up": True}}}
    other = {"name": "b", "neighbours": {"a": {"up": False}}}
    assert edges_of([one, other]) == [{"a": "a", "b": "b", "up": False}, {"a": "a", "b": "c", "up": True}]


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        ([], 2, "no network here: there is no reknit.network.json"),
        (["--admin", "nowhere"], 2, "--admin: 'nowhere' is no URL"),
        (["--admin", "http://127.0.0.1:1"], 1, "http://127.0.0.1:1: no answer from this broker"),
    ],
)
def test_bad_input_and_failure(
    reknit: Callable[..., Any], monkeypatch: Any, tmp_path: Path, words: list[str], code: int, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = reknit("topology", *words)
    assert (said.code, said.err.count("\n")) == (code, 1)
    assert line in said.err
