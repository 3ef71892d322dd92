"""``reknit link``: the overlay changes while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture
def restored(reknit: Callable[..., Any], network: Any) -> Iterator[Any]:
    """The network, which is a line again afterwards."""
    yield network
    links = [(link["a"], link["b"]) for link in reknit("topology", "--json").json["links"]]
    for a, b in links:
        if (a, b) not in (("b1", "b2"), ("b2", "b3")):
            assert reknit("link", "remove", a, b).code == 0
    for a, b in (("b1", "b2"), ("b2", "b3")):
        if (a, b) not in links:
            assert reknit("link", "add", a, b).code == 0


def test_a_link_is_moved_and_a_cycle_is_refused(reknit: Callable[..., Any], restored: Any) -> None:
    refused = reknit("link", "add", "b1", "b3")
    assert refused.code == 1
    assert all(name in refused.err for name in ("b1", "b2", "b3"))
    assert reknit("link", "remove", "b2", "b3").out == "b2 and b3 are not linked any more\n"
    assert reknit("link", "add", "b1", "b3").out == "b1 and b3 are linked\n"
    links = reknit("topology", "--json").json["links"]
    assert [(link["a"], link["b"]) for link in links] == [("b1", "b2"), ("b1", "b3")]
    assert reknit("link", "remove", "b1", "b3", "--json").json == {"done": True, "brokers": ["b1", "b3"]}
    assert reknit("link", "add", "b1", "b3", "--json").json == {"done": True, "brokers": ["b1", "b3"]}
    assert reknit("verify-routes").code == 0


def test_by_the_operators_door_alone(reknit: Callable[..., Any], restored: Any) -> None:
    b1, _, b3 = restored.state["brokers"]
    assert reknit("link", "remove", "b3", "b2", "--admin", b3["admin"]).code == 0
    said = reknit("link", "add", "b3", f"b1={b1['listen']}", "--admin", b3["admin"])
    assert said.out == "b3 and b1 are linked\n"
    assert {link["b"] for link in reknit("topology", "--json").json["links"]} == {"b2", "b3"}


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["add", "b1", "b1"], 2, "'b1' cannot be linked with itself"),
        (["add", "b1", "b9"], 2, "no broker 'b9'"),
        (["remove", "b9", "b1"], 2, "no broker 'b9'"),
        (["remove", "b1", "b3"], 1, "b1 has no link to b3"),
        (["remove", "b1", "a/b"], 2, "'a/b' is no broker's name"),
        (["add", "b1", "b2=127.0.0.1:1"], 2, "an address is for --admin URL"),
        (["add", "b1", "b2", "--admin", "http://127.0.0.1:1"], 2, "with --admin, B is NAME=HOST:PORT"),
        (["add", "b1", "b2=x", "--admin", "http://127.0.0.1:1"], 2, "b2: 'x' is no HOST:PORT"),
        (["add", "b1", "b2=127.0.0.1:1", "--admin", "http://127.0.0.1:1"], 1, "no answer"),
    ],
)
def test_bad_input_and_failure(
    reknit: Callable[..., Any], network: Any, words: list[str], code: int, line: str
) -> None:
    said = reknit("link", *words)
    assert (said.code, said.err.count("\n")) == (code, 1)
    assert line in said.err


@pytest.mark.parametrize("words", [["add", "b2", "b9=127.0.0.1:1"], ["remove", "b3", "b2"]])
def test_the_door_of_another_broker_is_refused(reknit: Callable[..., Any], network: Any, words: list[str]) -> None:
    door = network.state["brokers"][0]["admin"]
    said = reknit("link", *words, "--admin", door)
    assert (said.code, said.out) == (2, "")
    assert said.err == f"reknit: --admin: {door} is the door of b1, not of {words[1]}\n"
    assert len(reknit("topology", "--json").json["links"]) == 2


def test_the_help_shows_both_ways(reknit: Callable[..., Any]) -> None:
    said = reknit("link", "--help").out
    assert "    reknit link add b1 b3\n" in said
    assert "    reknit link add b1 b3=127.0.0.1:7003 --admin http://127.0.0.1:8001\n" in said


@pytest.mark.parametrize("strategy", ["strawman", "deferred", "path", "path-batched"])
def test_a_link_is_replaced_at_once_shown_and_undone(reknit: Callable[..., Any], restored: Any, strategy: str) -> None:
    words = ("link", "replace", "b2", "b3", "--with", "b1", "b3", "--strategy", strategy)
    planned = reknit(*words, "--dry-run")
    assert planned.out.startswith("b2 - b3 would become b1 - b3\n"), planned.err
    assert "touches b1, b2, b3\n" in planned.out
    done = reknit(*words, "--verify", "--json").json
    assert done["differences"] == []
    links = reknit("topology", "--json").json["links"]
    assert [(link["a"], link["b"]) for link in links] == [("b1", "b2"), ("b1", "b3")]
    shown = reknit("change", "show", done["change"]).out.splitlines()
    assert shown[0] == f"{done['change']}: {' '.join(words)}: done"
    assert [line.split(":")[0] for line in shown[2:5]] == ["  b2 (first)", "  b1 (near end)", "  b3 (last)"]
    assert shown[5] == f"  undo: reknit link replace b1 b3 --with b2 b3 --strategy {strategy}"
    undone = reknit("change", "undo", done["change"], "--verify")
    assert (undone.code, undone.out.splitlines()[1]) == (0, "3 brokers, 0 differences between tables and ideal ones")
    links = reknit("topology", "--json").json["links"]
    assert [(link["a"], link["b"]) for link in links] == [("b1", "b2"), ("b2", "b3")]
