"""``reknit peers``: a trial on the loopback, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reknit.cli._problem import BadInput
from reknit.cli.peers import sizes_of


def test_a_trial(reknit: Callable[..., Any]) -> None:
    said = reknit("peers", "--count", "6", "--topic", "a", "--topic", "a/b", "--events", "3", "-g", "99", "--json")
    assert said.code == 0
    assert (said.json["peers"], said.json["published"], said.json["parasites"]) == (6, 3, 0)
    heard = {each["topic"]: each["delivered"] for each in said.json["communities"]}
    assert list(heard) == ["a", "a/b"]
    assert heard["a/b"] == 9
    assert heard["a"] in (0, 3, 6, 9)  # an event that rises reaches all; whether it does is left to chance, by a / z
    assert said.json["delivered"] == sum(heard.values())


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--topic", "a/#"], "filters only"),
        (["--membership", "x"], "it is one of"),
        (["-c", "nan"], "peers: c: it is a number"),
        (["-c", "inf"], "peers: c: it is a number"),
        (["-g", "-1"], "peers: g: it is 0 or more"),
    ],
)
def test_bad_input_is_one_line(reknit: Callable[..., Any], words: list[str], error: str) -> None:
    said = reknit("peers", *words)
    assert said.code == 2
    assert error in said.err


def test_peers_are_spread_as_in_the_paper_or_evenly() -> None:
    assert [size for _, size in sizes_of(117, [])] == [7, 30, 80]
    assert [size for _, size in sizes_of(3, [])] == [1, 1, 1]
    assert sizes_of(7, ["a", "b", "a"]) == (("a", 3), ("b", 4))
    with pytest.raises(BadInput):
        sizes_of(2, [])
