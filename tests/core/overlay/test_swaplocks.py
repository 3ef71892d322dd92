"""How a swap begins, or does not: refusals with their reason, collisions, leases."""

from __future__ import annotations

import pytest

from tests.core.overlay.triple import Triple, edges


@pytest.mark.parametrize(
    ("swap", "why"),
    [
        (("a", "b", "b"), "a swap needs three different brokers"),
        (("a", "c", "b"), "a and b are linked already"),
        (("a", "y", "c"), "a has no link to y; it is linked with b, x"),
        (("a", "b", "z"), "z is no neighbour of b; it is linked with a, c, y"),
        (("a", "b", "nobody"), "nobody is no neighbour of b; it is linked with a, c, y"),
    ],
)
def test_a_swap_that_is_none_is_refused_with_the_reason(swap: tuple[str, str, str], why: str) -> None:
    cluster = Triple()
    before = edges(cluster)
    request = cluster.swap(*swap)
    assert cluster.settle(30.0)
    assert cluster.replies[request] == why
    assert edges(cluster) == before
    assert all(node.broker is not None and not node.broker.overlay.swaps.locked for node in cluster.nodes.values())


def test_swaps_that_collide_are_done_one_after_the_other() -> None:
    cluster = Triple()
    requests = [cluster.swap("a", "b", "c"), cluster.swap("y", "b", "c")]
    assert cluster.settle(60.0)
    assert [cluster.replies[each] for each in requests] == ["", ""]
    assert edges(cluster) == [("a", "c"), ("a", "x"), ("b", "c"), ("c", "y"), ("c", "z")]


def test_a_swap_and_its_undoing_restore_the_tree() -> None:
    cluster = Triple()
    before = edges(cluster)
    cluster.swap("a", "b", "c")
    assert cluster.settle(30.0)
    request = cluster.swap("a", "c", "b")
    assert cluster.settle(30.0)
    assert cluster.replies[request] == ""
    assert edges(cluster) == before


def test_a_goal_that_cannot_be_reached_locks_nobody_for_long() -> None:
    cluster = Triple()
    cluster.network.cut("c", "a")
    cluster.network.cut("a", "c")
    request = cluster.swap("a", "b", "c")
    cluster.kernel.run(until=cluster.kernel.now + 90.0)
    cluster.network.heal()
    assert cluster.settle(30.0)
    assert cluster.replies[request].startswith("given up after 20 s: ")
    assert ("a", "b") in edges(cluster)


def test_a_mover_that_dies_before_the_new_link_is_there_leaves_nothing_behind() -> None:
    cluster = Triple()
    before = edges(cluster)
    cluster.swap("a", "b", "c")
    cluster.kernel.run(until=cluster.kernel.now + 0.03)
    cluster.crash("a")
    cluster.kernel.run(until=cluster.kernel.now + 1.0)
    cluster.start("a")
    assert cluster.settle(60.0)
    assert edges(cluster) == before


def test_a_link_in_a_swap_is_not_removed() -> None:
    cluster = Triple()
    cluster.swap("a", "b", "c")
    request = cluster.remove_link("a", "b")
    assert cluster.replies[request] == "a takes part in the swap of a from b to c; try again when that is over"
    assert cluster.settle(30.0)
