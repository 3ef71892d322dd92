"""Healed and calm mean what they say: each thing that is amiss is named."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from reknit.cli._demo.watch import why_not_calm, why_not_healed, why_not_written
from reknit.cli._demo.world import Kind, Role, Wish
from reknit.live.statefile import BrokerState, NetworkState
from reknit.trace.records import Kind as Seen
from reknit.trace.records import Record
from reknit.trace.store import write_trace

ROLES = [Role("c1", "b2", "oslo", Kind.PYTHON, Wish(("t",), "n>1"), publishes=False)]


def table(neighbour: str, *entries: tuple[str, str]) -> dict[str, Any]:
    return {
        "routing": "subscription-forwarding",
        "covering": False,
        "ready": True,
        "wanted_links": {},
        "neighbours": {neighbour: {"up": True, "outbox_bytes": 0}},
        "other_links": {},
        "changes": {"under_way": None, "waiting": [], "history": []},
        "entries": [{"kind": kind, "hop": hop, "topic": "t", "selector": "n > 1"} for kind, hop in entries],
    }


@pytest.fixture
def tables() -> dict[str, dict[str, Any]]:
    return {"b1": table("b2", ("broker", "b2")), "b2": table("b1", ("client", "c1"))}


def test_all_is_well(tables: dict[str, dict[str, Any]]) -> None:
    assert why_not_calm(tables, ROLES) == ""


def test_whatever_is_amiss_is_named(tables: dict[str, dict[str, Any]]) -> None:
    cases: list[tuple[str, str, Any, str]] = [
        ("b1", "ready", False, "b1 is not linked with all its neighbours yet"),
        ("b1", "wanted_links", {"b3": ""}, "b1 is not linked with all its neighbours yet"),
        ("b2", "entries", [], "c1 is not subscribed at b2 yet"),
        ("b1", "entries", [], "1 table entries are not ideal"),
    ]
    for name, key, value, why in cases:
        broken = copy.deepcopy(tables)
        broken[name][key] = value
        assert why_not_healed(broken, ROLES) == why
    assert why_not_healed({**tables, "b2": {}}, ROLES) == "b2 does not answer"


def test_a_link_that_holds_something_is_not_calm_but_healed(tables: dict[str, dict[str, Any]]) -> None:
    tables["b2"]["neighbours"]["b1"]["outbox_bytes"] = 12
    assert why_not_healed(tables, ROLES) == ""
    assert why_not_calm(tables, ROLES) == "b2 holds 12 bytes for b1"


def test_a_change_that_is_under_way_is_not_calm_but_healed(tables: dict[str, dict[str, Any]]) -> None:
    for key, value in (("changes", {"under_way": {"stage": "flood"}}), ("other_links", {"b3": {}})):
        changing = copy.deepcopy(tables)
        changing["b1"][key] = value
        assert why_not_healed(changing, ROLES) == ""
        assert why_not_calm(changing, ROLES) == "b1 takes part in a change of the tree"


def test_the_trace_has_to_tell_of_every_broker_and_subscription(tmp_path: Path) -> None:
    state = NetworkState(pid=1, brokers=[BrokerState(name="b2", pid=2, mqtt="", listen="", admin="")])
    pattern = ROLES[0].wish.patterns[0]
    steps = [
        (Record(1.0, "demo", Seen.CRASHED), "nothing is known of b2"),
        (Record(1.1, "b2", Seen.STARTED), "wishes at 1.100 s: c1 at b2: not held ['t WHERE n > 1']"),
        (Record(1.2, "b2", Seen.SUBSCRIBED, client="c1", pattern=pattern), ""),
    ]
    for place, (_, why) in enumerate(steps):
        directory = tmp_path / str(place)
        write_trace([record for record, _ in steps[: place + 1]], directory)
        assert why_not_written(directory, state, ROLES).startswith(why)
        assert bool(why) is bool(why_not_written(directory, state, ROLES))
