"""The estimate is what it takes, where nothing else happens: message for message, byte for byte."""

from __future__ import annotations

import random
from typing import Any

import pytest

from reknit.cli._changes.cost import estimate, estimate_join
from reknit.cli._changes.plans import plan_link
from reknit.cli._changes.view import View
from reknit.core.broker import BrokerOptions
from reknit.core.overlay.shapes import find_path, names, shape_edges
from reknit.core.routing.strategies import RoutingName
from reknit.model.pattern import Pattern
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions

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
        request = cluster.swap(*move.step)
        assert cluster.settle(30.0)
        assert cluster.replies[request] == ""
    assert (cost.messages, cost.bytes) == sent(cluster)
    assert cost.messages >= 12 * len(plan.moves) > 12


def test_a_join_touches_the_tree_that_is_searched_and_tells_what_is_wanted_there() -> None:
    cluster = Cluster([("b1", "b2"), ("b2", "b3"), ("x1", "x2")], BrokerOptions(founded=True), NetworkOptions(), "1")
    cluster.start_all()
    cluster.attach("b3", "c", [Pattern.parse(f"t/{number}", "") for number in range(100)])
    assert cluster.settle(30.0)
    cost = estimate_join(view_of(cluster), "b1", tables_of(cluster))
    assert cost.brokers == ["b1", "b2", "b3"]
    assert cost.messages == 2 + 2 * 3 + 2 + 1  # greetings, the search, what is wanted in two parts, and nothing
    assert cost.bytes > 100 * len("t/99")
    alone = estimate_join(view_of(cluster), "", {})
    assert (alone.brokers, alone.messages, alone.bytes) == ([], 0, 0)
