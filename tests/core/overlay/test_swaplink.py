"""SwapLink: the tree and the tables afterwards, who is touched, and what a crash at any moment does to it."""

from __future__ import annotations

import pytest

from reknit.sim.checkers.delivery import check_delivery
from reknit.sim.checkers.order import check_order
from reknit.sim.checkers.tables import check_tables
from reknit.sim.checkers.tree import check_tree
from reknit.trace.records import Kind
from tests.core.overlay.triple import Triple, edges

SWAPPED = [("a", "c"), ("a", "x"), ("b", "c"), ("b", "y"), ("c", "z")]
UNCHANGED = [("a", "b"), ("a", "x"), ("b", "c"), ("b", "y"), ("c", "z")]


def _tables(cluster: Triple) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for name, node in cluster.nodes.items():
        assert node.broker is not None
        entries = node.broker.table()["entries"]
        found[name] = [(entry["hop"], entry["topic"]) for entry in entries if entry["kind"] == "broker"]
    return found


@pytest.mark.parametrize("routing", ["subscription-forwarding", "global-table"])
def test_nobody_but_the_three_is_touched(routing: str) -> None:
    cluster = Triple(routing=routing)
    before = _tables(cluster)
    cluster.swap("a", "b", "c")
    assert cluster.settle(30.0)
    after = _tables(cluster)
    assert edges(cluster) == SWAPPED
    assert [after[name] for name in "xyz"] == [before[name] for name in "xyz"]
    assert {record.node for record in cluster.seen(Kind.CHANGE)} == set("abc")
    assert {record.node for record in cluster.seen(Kind.ROUTE_ADDED)} <= set("abc")
    assert sorted(topic for hop, topic in after["c"] if hop == "a") == ["a/#", "all/#", "x/#"]


def test_subscriptions_that_change_during_a_swap_are_not_forgotten() -> None:
    for seed in range(10):
        cluster = Triple(f"churn {seed}")
        cluster.swap("a", "b", "c")
        for number, name in enumerate("abcxyz"):
            cluster.kernel.after(0.01 * number, cluster.detach, name, f"at-{name}")
        assert cluster.settle(30.0)
        assert all(not entries for entries in _tables(cluster).values())


@pytest.mark.parametrize("covering", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("victims", ["a", "b", "c", "ab", "ba", "bc", "cb", "ac", "ca", "abc", "bac", "cab"])
def test_a_crash_at_any_moment_ends_in_a_tree_and_loses_nothing(victims: str, covering: bool) -> None:
    """Whoever dies, whenever: the swap is done or undone, the tables are ideal, and events from elsewhere arrive."""
    outcomes = set()
    for step in range(26):
        cluster = Triple(f"crash {victims} {step}", latency_s_max=0.01, covering=covering)
        cluster.swap("a", "b", "c")
        for number in range(30):
            for broker in "xyz":
                cluster.later(number * 0.01, broker, f"all/{broker}/{number}")
        cluster.kernel.run(until=cluster.kernel.now + step * 0.004)
        for number, name in enumerate(victims):
            cluster.kernel.after(0.003 * number, cluster.crash, name)
            cluster.kernel.after(0.5 + 0.2 * number, cluster.start, name)
        cluster.kernel.run(until=cluster.kernel.now + 2.0)
        assert cluster.settle(60.0), cluster.restlessness()
        outcomes.add(tuple(edges(cluster)))
        for client in "xyz":
            heard = cluster.heard(f"at-{client}")
            for source in "xyz":
                assert [each for each in heard if f"/{source}/" in each] == [f"all/{source}/{n}" for n in range(30)]
        assert not list(check_tree(cluster.records))
        assert not list(check_order(cluster.records))
    assert outcomes <= {tuple(SWAPPED), tuple(UNCHANGED)}
    assert tuple(SWAPPED) in outcomes


def test_a_goal_that_comes_back_without_the_mover_does_not_spoil_the_middles_tables() -> None:
    """It tells by the old tree until the mover is there: what only the mover's side wants is not in it."""
    for step in range(13):
        cluster = Triple(f"back {step}", latency_s_max=0.01)
        cluster.swap("a", "b", "c")
        cluster.kernel.run(until=cluster.kernel.now + step * 0.006)
        cluster.crash("c")
        cluster.network.cut("a", "c")
        cluster.network.cut("c", "a")
        cluster.kernel.after(0.5, cluster.start, "c")
        cluster.kernel.after(2.0, cluster.network.heal)
        for number in range(40):
            cluster.later(0.45 + number * 0.02, "y", f"x/{number}")
        cluster.kernel.run(until=cluster.kernel.now + 3.0)
        assert cluster.settle(60.0), cluster.restlessness()
        assert cluster.heard("at-x") == [f"x/{number}" for number in range(40)], f"step {step}"


def test_the_checkers_agree() -> None:
    cluster = Triple("agree")
    cluster.swap("a", "b", "c")
    for number in range(20):
        cluster.later(number * 0.01, "x", f"all/{number}")
    assert cluster.settle(30.0)
    records = cluster.records
    assert not [*check_tree(records), *check_delivery(records), *check_order(records)]
    assert not list(check_tables(records, "subscription-forwarding", covering=False))
    assert [record.detail for record in cluster.seen(Kind.LINK_MOVED)] == ["b"]
