"""A broker of a swap that dies and stays away: the others go on without it, and if it comes back, the tree is whole."""

from __future__ import annotations

import pytest

from reknit.sim.checkers.order import check_order
from reknit.sim.checkers.tables import check_tables
from reknit.sim.checkers.tree import check_tree
from tests.core.overlay.triple import Triple

STEPS = range(0, 28, 3)
"""Moments at which they die: of about 4 ms each."""


def _swaps(cluster: Triple):  # type: ignore[no-untyped-def]
    return {name: node.broker.overlay.swaps for name, node in cluster.nodes.items() if node.broker is not None}


def _neighbours(cluster: Triple) -> list[tuple[str, str]]:
    brokers = {name: node.broker for name, node in cluster.nodes.items()}
    pairs = [(name, peer) for name, broker in brokers.items() if broker for peer in broker.overlay.neighbours()]
    return sorted({(min(pair), max(pair)) for pair in pairs})


def _lose(victims: str, step: int) -> Triple:
    """Some die in the midst of a swap, and are away for longer than the lease."""
    cluster = Triple(f"lost {victims} {step}", latency_s_max=0.01)
    cluster.swap("a", "b", "c")
    for number in range(30):
        for broker in "xyz":
            cluster.later(number * 0.01, broker, f"all/{broker}/{number}")
    cluster.kernel.run(until=cluster.kernel.now + step * 0.004)
    for victim in victims:
        cluster.crash(victim)
    cluster.kernel.run(until=cluster.kernel.now + 2 * cluster.options.overlay.absent_s_max)
    return cluster


@pytest.mark.parametrize("victims", ["a", "b", "c", "ab", "bc", "ac"])
def test_nobody_stays_locked_and_whoever_comes_back_is_in_the_tree(victims: str) -> None:
    ends = set()
    for step in STEPS:
        cluster = _lose(victims, step)
        assert not [name for name, swaps in _swaps(cluster).items() if swaps.locked], (victims, step)
        for victim in victims:
            cluster.start(victim)
        assert cluster.settle(100.0), cluster.restlessness()
        ends.add(tuple(_neighbours(cluster)))
        assert len(_neighbours(cluster)) == 5, (victims, step)
        cluster.say("x", "all/late")
        assert cluster.settle(20.0)
        assert all("all/late" in cluster.heard(f"at-{name}") for name in "xyz")
        assert not [*check_tree(cluster.records), *check_order(cluster.records)]
        assert not list(check_tables(cluster.records, "subscription-forwarding", covering=False))
    assert len(ends) > 1  # at some moments the swap is undone, at some it is done


def test_the_survivors_can_be_changed_again() -> None:
    """The goal is lost before the move: the swap is undone, and the mover's link can be swapped elsewhere."""
    cluster = _lose("c", 12)
    assert ("a", "b") in _neighbours(cluster)
    request = cluster.swap("a", "b", "y")
    cluster.kernel.run(until=cluster.kernel.now + 5.0)
    assert cluster.replies[request] == ""
    assert ("a", "y") in _neighbours(cluster)


def test_without_the_middle_the_mover_moves() -> None:
    """Mover and goal stay connected, though the only way between them led through the dead one."""
    cluster = _lose("b", 13)
    assert ("a", "c") in _neighbours(cluster)
    before = len(cluster.heard("at-z"))
    cluster.say("x", "all/late")
    cluster.kernel.run(until=cluster.kernel.now + 1.0)
    assert cluster.heard("at-z")[before:] == ["all/late"]


def test_the_operator_is_told_why_it_was_undone() -> None:
    cluster = _lose("c", 12)
    assert [reply for reply in cluster.replies.values() if reply] == ["c did not come back in time"]
