"""The estimate is what it takes, where nothing else happens: message for message, byte for byte."""

from __future__ import annotations

import random
from typing import Any

import pytest

from reknit.cli._changes.cost import estimate
from reknit.cli._changes.plans import plan_add, plan_drain, plan_link, plan_swap, plan_undo
from reknit.cli._changes.view import View
from reknit.cli._problem import BadInput
from reknit.core.broker import BrokerOptions
from reknit.core.overlay.history import Deed
from reknit.core.overlay.shapes import find_path, names, shape_edges
from reknit.core.overlay.swap import Step
from reknit.core.routing.strategies import RoutingName
from reknit.model.pattern import Pattern
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.wire.codec import decode
from reknit.wire.messages import ChangeMessage, Data, Message

BROKERS = names(8)


def tables_of(cluster: Cluster) -> dict[str, dict[str, Any]]:
    return {name: node.broker.table() for name, node in cluster.nodes.items() if node.broker is not None}


def view_of(cluster: Cluster) -> View:
    """In the simulator a broker is dialled by its name."""
    said = {name: {"neighbours": table["neighbours"], "listen": name} for name, table in tables_of(cluster).items()}
    return View(said, {})


def sent(cluster: Cluster) -> tuple[int, int]:
    parts = [part for table in tables_of(cluster).values() for part in table["changes"]["history"]]
    assert all(part["ended"] is not None and not part["error"] for part in parts)
    return sum(part["messages"] for part in parts), sum(part["bytes"] for part in parts)


@pytest.mark.parametrize("covering", [False, True])
@pytest.mark.parametrize("routing", ["subscription-forwarding", "global-table", "flooding"])
@pytest.mark.parametrize("seed", range(5))
def test_the_estimate_is_what_it_takes(routing: RoutingName, covering: bool, seed: int) -> None:
    rng = random.Random(seed)
    edges = shape_edges("random", BROKERS, rng)
    options = BrokerOptions(routing=routing, covering=covering, founded=True)
    cluster = Cluster(edges, options, NetworkOptions(), str(seed))
    cluster.start_all()
    for name in BROKERS:
        cluster.attach(
            name, f"c{name}", [Pattern.parse(f"t/{rng.randrange(200)}", "") for _ in range(rng.randrange(60))]
        )
    assert cluster.settle(30.0)
    old = rng.choice(edges)
    side = [name for name in BROKERS if find_path([edge for edge in edges if edge != old], old[0], name)]
    new = max(
        ((one, other) for one in side for other in BROKERS if other not in side),
        key=lambda edge: len(find_path(edges, *edge)),
    )
    view = view_of(cluster)
    plan = plan_link(view, old, new, "swap")
    cost = estimate(view, plan, tables_of(cluster))
    for move in plan.moves:
        request = cluster.swap(*move.brokers)
        assert cluster.settle(30.0)
        assert cluster.replies[request] == ""
    assert (cost.messages, cost.bytes) == sent(cluster)
    assert cost.messages >= 12 * len(plan.moves) > 12


def settled(edges: list[tuple[str, str]]) -> Cluster:
    cluster = Cluster(edges, BrokerOptions(founded=True), NetworkOptions(), "1")
    cluster.start_all()
    cluster.attach("b3", "c", [Pattern.parse(f"t/{number}", "") for number in range(100)])
    assert cluster.settle(30.0)
    return cluster


def test_a_new_broker_asks_and_is_told_what_is_wanted() -> None:
    cluster = settled([("b1", "b2"), ("b2", "b3"), ("x1", "x2")])
    view = view_of(cluster)
    cost = estimate(view, plan_add(view, "b4", "b1"), tables_of(cluster))
    assert cost.brokers == ["b1", "b4"]
    assert cost.messages == 2 + 2 + 1  # greetings, what is wanted in two parts, and nothing
    assert cost.bytes > 100 * len("t/99")
    assert cost.sessions is None


def test_a_drain_says_what_moves_and_counts_its_swaps() -> None:
    cluster = settled([("b1", "b2"), ("b2", "b3"), ("b3", "b4"), ("b3", "b5")])
    view, tables = view_of(cluster), tables_of(cluster)
    cost = estimate(view, plan_drain(view, "b3"), tables)
    swap = estimate(view, plan_swap(view, Step("b4", "b3", "b2")), tables)
    assert cost.brokers == ["b2", "b3", "b4", "b5"]
    assert (cost.sessions, cost.subscriptions) == (1, 100)
    assert cost.messages == 2 * swap.messages + 4 + 2 + 5  # two swaps, the frame, the offer in two parts, the rest
    assert cost.bytes > 2 * 100 * len("t/99")


@pytest.mark.parametrize("routing", ["subscription-forwarding", "global-table", "flooding"])
def test_an_undone_drain_is_a_broker_more_and_swaps_towards_it(routing: RoutingName) -> None:
    cluster = settled([("b1", "b2"), ("b2", "b3")])
    view, tables = view_of(cluster), {name: table | {"routing": routing} for name, table in tables_of(cluster).items()}
    done = [Deed("swap", ("b3", "b4", "b2")), Deed("drain", ("b4", "b2"))]
    plan = plan_undo(view, "change undo x", done, {})
    assert [str(move) for move in plan.moves] == ["broker add b4 --link b2", "swap b3 b2 b4"]
    cost = estimate(view, plan, tables)
    assert cost.brokers == ["b2", "b3", "b4"]
    assert cost.messages >= 4 + 12


@pytest.mark.parametrize("strategy", ["strawman", "deferred", "path", "path-batched"])
def test_a_replacement_at_once_takes_what_it_takes_in_a_rehearsal(strategy: str) -> None:
    cluster = settled([("b1", "b2"), ("b2", "b3"), ("b3", "b4"), ("b4", "b5"), ("b2", "b6")])
    view = view_of(cluster)
    plan = plan_link(view, ("b3", "b4"), ("b1", "b5"), strategy)
    assert plan.moves[0].brokers == ("b3", "b2", "b1", "b5", "b4")
    cost = estimate(view, plan, tables_of(cluster))
    said: list[Message] = []

    def hear(_: str, __: str, frame: bytes) -> None:
        data = decode(frame)
        said.extend(data.messages if isinstance(data, Data) else ())

    cluster.sent = hear
    request = cluster.replace_link(strategy, ("b3", "b2", "b1"), ("b5", "b4"))
    assert cluster.settle(30.0)
    assert cluster.replies[request] == ""
    assert cost.besides is not None
    assert cost.messages == sum(isinstance(each, ChangeMessage) for each in said)
    assert cost.messages + cost.besides.messages == len(said)
    assert cost.brokers == ["b1", "b2", "b3", "b4", "b5"]


def test_a_replacement_that_brokers_would_refuse_is_refused_by_its_rehearsal() -> None:
    cluster = settled([("b1", "b2"), ("b2", "b3")])
    view, tables = view_of(cluster), {name: table | {"covering": True} for name, table in tables_of(cluster).items()}
    plan = plan_link(view, ("b1", "b2"), ("b1", "b3"), "path")
    with pytest.raises(BadInput, match=r"path does not work with covering, .* use deferred or strawman"):
        estimate(view, plan, tables)
