"""The goal hears of the ends of ways in their order, whatever order they come in."""

from __future__ import annotations

from reknit.trace.records import Kind
from tests.core.overlay.triple import Triple


def test_the_goal_opens_before_it_closes_in_every_schedule() -> None:
    early = 0
    for seed in range(40):
        cluster = Triple(f"stall {seed}", latency_s_max=0.3)
        cluster.swap("a", "b", "c")
        assert cluster.settle(60.0)
        steps = [record.detail for record in cluster.seen(Kind.CHANGE) if record.node == "c"]
        ends = [step.split(" at ")[0] for step in steps if "open" in step or "close" in step]
        assert ends == ["swap: open", "swap: close(ab)", "swap: close(ba)"]
        times = {record.detail: record.time for record in cluster.seen(Kind.CHANGE) if record.node == "c"}
        early += times["swap: open at the goal"] == times["swap: close(ab) at the goal"]
    assert early > 0  # it did come early now and then, and had to wait
