"""How a swap begins, or does not: refusals with their reason, collisions, leases."""

from __future__ import annotations

import pytest

from reknit.core.overlay.options import OverlayOptions
from reknit.model.pattern import Pattern
from reknit.sim.checkers.tables import check_tables
from reknit.wire.messages import Known, Lock, LockNack, Seated
from tests.core.desk import Desk, pattern
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


NOT_EMPTY = "the former link of {} and {} is not empty yet, which takes 120 s at most; try again then"


def _with_a_link_that_is_not_empty() -> Triple:
    """a has moved from b to c; what y is to get went over the link of a and b, and y is away."""
    cluster = Triple()
    cluster.network.cut("b", "y")
    cluster.say("x", "all/late")
    cluster.kernel.run(until=cluster.kernel.now + 0.2)
    request = cluster.swap("a", "b", "c")
    cluster.kernel.run(until=cluster.kernel.now + 1.0)
    assert cluster.replies[request] == ""
    return cluster


@pytest.mark.parametrize(
    ("swap", "ends"),
    [
        (("a", "c", "z"), "ab"),  # the mover of the first is that of the second
        (("x", "a", "c"), "ab"),  # or its middle
        (("z", "c", "a"), "ab"),  # or its goal
        (("b", "c", "z"), "ba"),  # and so the middle of the first
        (("c", "b", "y"), "ba"),
        (("z", "c", "b"), "ba"),
    ],
)
def test_until_a_replaced_link_is_empty_its_ends_take_part_in_no_other_swap(swap: tuple[str, ...], ends: str) -> None:
    cluster = _with_a_link_that_is_not_empty()
    request = cluster.swap(*swap)
    cluster.kernel.run(until=cluster.kernel.now + 5.0)
    broker = cluster.nodes[swap[0]].broker
    assert broker is not None
    assert [wish.last for wish in broker.overlay.swaps.wishes] == [NOT_EMPTY.format(*ends)]
    cluster.network.heal()
    assert cluster.settle(10.0)
    assert cluster.replies[request] == ""
    mover, middle, goal = swap
    links = edges(cluster)
    assert (min(mover, goal), max(mover, goal)) in links
    assert (min(mover, middle), max(mover, middle)) not in links


def test_a_swap_is_refused_if_the_link_before_does_not_get_empty_and_done_when_that_is_given_up() -> None:
    cluster = _with_a_link_that_is_not_empty()
    since = cluster.kernel.now
    request = cluster.swap("z", "c", "a")
    cluster.kernel.run(until=since + 25.0)
    assert cluster.replies[request] == f"given up after 20 s: {NOT_EMPTY.format('a', 'b')}"
    cluster.kernel.run(until=since + OverlayOptions().close_s_max - OverlayOptions().join_s_max / 2)
    request = cluster.swap("z", "c", "a")
    cluster.kernel.run(until=since + OverlayOptions().close_s_max + 5.0)
    assert cluster.replies[request] == ""


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


@pytest.mark.parametrize(("one", "other", "wants"), [("b", "a", "x"), ("b", "c", "z")])
def test_a_word_of_an_older_swap_does_not_spoil_the_tables_of_one_under_way(one: str, other: str, wants: str) -> None:
    """Whoever hears it tells all, and so what the swap brings, which was collected before, is not all any more."""
    for step in range(20):
        cluster = Triple(f"older {step}", latency_s_max=0.01)
        cluster.swap("a", "b", "c")
        cluster.kernel.run(until=cluster.kernel.now + step * 0.003)
        broker = cluster.nodes[one].broker
        assert broker is not None
        if other in broker.links.of:
            broker.links.of[other].send(Seated((other, 1 << 47)))
            cluster.say(one, "nobody")
        for number in range(8):
            pattern = Pattern.parse(f"new/{number}")
            cluster.kernel.after(0.004 * number, cluster.attach, wants, f"new-{number}", [pattern])
        cluster.kernel.run(until=cluster.kernel.now + 0.05)
        assert cluster.settle(30.0)
        assert not list(check_tables(cluster.records, "subscription-forwarding", covering=False)), step


def test_nobody_is_locked_who_hears_of_one_broker_from_two_sides() -> None:
    """Complete knowledge: what is behind whom is told by names, which mean nothing as long as two tell of one."""
    desk = Desk("a", "c", name="b", routing="global-table")
    mover, goal = desk.linked("a", 1), desk.linked("c", 2)
    mover.say(Known("x", [pattern("x")], []))
    goal.say(Known("x", [pattern("x")], []))
    mover.say(Lock(("a", 1 << 47), "b", "c", "a:1"))
    (nack,) = [each for each in mover.heard() if isinstance(each, LockNack)]
    assert nack.retry
    assert nack.reason == "b hears of x from a and c, still"
    goal.say(Known("x", [], [pattern("x")]))
    mover.say(Lock(("a", 1 << 48), "b", "c", "a:1"))
    assert [each.id for each in goal.heard() if isinstance(each, Lock)] == [("a", 1 << 48)]
