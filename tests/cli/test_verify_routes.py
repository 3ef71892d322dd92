"""``reknit verify-routes``: a table that differs is shown, one that does not is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from reknit.cli._problem import Failed
from reknit.cli.verify_routes import compare, line_of
from reknit.client import connect


def entry(kind: str, hop: str, topic: str, selector: str = "") -> dict[str, str]:
    return {"kind": kind, "hop": hop, "topic": topic, "selector": selector}


def table(neighbours: list[str], *entries: dict[str, str]) -> dict[str, Any]:
    return {
        "routing": "subscription-forwarding",
        "covering": False,
        "neighbours": {name: {"up": True} for name in neighbours},
        "entries": list(entries),
    }


def test_missing_and_stale_entries_are_found() -> None:
    tables = {
        "a": table(["b"], entry("client", "ann", "t", "n > 3")),
        "b": table(["a", "c"], entry("broker", "c", "old")),
        "c": table(["b"], entry("broker", "b", "t", "n > 3")),
    }
    assert compare(tables) == [
        {"broker": "b", "fault": "missing", "neighbour": "a", "topic": "t", "selector": "n > 3"},
        {"broker": "b", "fault": "stale", "neighbour": "c", "topic": "old", "selector": ""},
    ]
    tables["b"] = table(["a", "c"], entry("broker", "a", "t", "n > 3"))
    assert compare(tables) == []


def test_a_network_that_is_not_seen_whole_cannot_be_verified() -> None:
    with pytest.raises(Failed, match="a is linked with b, whose operator's door is not known"):
        compare({"a": table(["b"])})


def test_a_network_with_a_cycle_cannot_be_verified_and_says_so() -> None:
    with pytest.raises(Failed, match="form a cycle"):
        compare({"a": table(["b", "c"]), "b": table(["a", "c"]), "c": table(["a", "b"])})


def test_a_live_network_has_the_tables_that_it_should_have(reknit: Callable[..., Any], network: Any) -> None:
    async def run() -> None:
        async with (
            connect("127.0.0.1", network.base_port) as one,
            connect("127.0.0.1", network.base_port + 2) as other,
            one.subscribe("v/#", where="n > 3"),
            other.subscribe("v/x"),
        ):
            while True:  # the subscriptions travel while we look
                said = await asyncio.to_thread(reknit, "verify-routes", "--json")
                if said.code == 0 and said.json["entries"]:
                    assert said.json == {"brokers": 3, "entries": 4, "differences": []}
                    return

    asyncio.run(run())
    assert reknit("verify-routes").code == 0
    one = network.state["brokers"][0]["admin"]
    said = reknit("verify-routes", "--admin", one)
    assert said.code == 1
    assert "b1 is linked with b2" in said.err


def on_ring(number: int, before: str, *behind: str) -> dict[str, Any]:
    ring = {"id": number, "before": before, "behind": list(behind), "wanted": [], "children": {}}
    return {"routing": "rendezvous", "covering": False, "ring": ring}


def test_a_ring_that_is_not_one_is_said_also_where_nothing_is_wanted() -> None:
    tables = {"a": on_ring(1, "c", "b", "c"), "b": on_ring(2, "a", "c", "a"), "c": on_ring(3, "b", "a", "b")}
    assert compare(tables) == []
    tables |= {"b": on_ring(2, "", "a"), "c": on_ring(3, "a", "a", "c")}
    assert [line_of(each) for each in compare(tables)] == [
        "b: before it on the ring is nobody, not a",
        "b: behind it on the ring is a, not c",
        "c: before it on the ring is a, not b",
    ]
    assert compare({"a": on_ring(1, "")}) == []
    assert [line_of(each) for each in compare({"a": on_ring(1, ""), "b": on_ring(2, "")})][:2] == [
        "a: before it on the ring is nobody, not b",
        "a: behind it on the ring is nobody, not b",
    ]
