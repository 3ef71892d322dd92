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
    assert reknit("verify-routes").code == 0


def test_by_the_operators_door_alone(reknit: Callable[..., Any], restored: Any) -> None:
    b1, _, b3 = restored.state["brokers"]
    assert reknit("link", "remove", "b3", "b2", "--admin", b3["admin"]).code == 0
    assert reknit("link", "add", "b3", f"b1={b1['listen']}", "--admin", b3["admin"]).code == 0
    assert {link["b"] for link in reknit("topology", "--json").json["links"]} == {"b2", "b3"}


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["add", "b1", "b1"], 2, "'b1' cannot be linked with itself"),
        (["add", "b1", "b9"], 2, "no broker 'b9'"),
        (["remove", "b9", "b1"], 2, "no broker 'b9'"),
        (["remove", "b1", "b3"], 1, "b1 has no link to b3"),
        (["add", "b1", "b2", "--admin", "http://127.0.0.1:1"], 1, "no answer"),
    ],
)
def test_bad_input_and_failure(
    reknit: Callable[..., Any], network: Any, words: list[str], code: int, line: str
) -> None:
    said = reknit("link", *words)
    assert (said.code, said.err.count("\n")) == (code, 1)
    assert line in said.err
