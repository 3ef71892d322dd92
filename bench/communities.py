"""200 live peers in one process, on loopback: a thousand deliveries a second, and nothing unwanted.

Owns: the sizes, the pace, the rows. Must not know: how a trial is played (``reknit.live.peers.trial``).
"""

from __future__ import annotations

import asyncio
import os
import time

from bench.rows import INFORMATION, Row
from reknit.community.options import TopicOptions
from reknit.live.peers.trial import TrialOutcome, TrialPlan, brisk, run_trial

__all__ = ["run"]

SIZES = (("a", 12), ("a/d", 51), ("a/d/g", 137))
QUICK_SIZES = (("a", 2), ("a/d", 5), ("a/d/g", 13))
DELIVERIES_PER_S = 1000
OWED_PER_S = 1150
"""Gossip does not reach everybody, and the last deliveries come after the last publication."""
FOR_S = 15.0
QUICK_S = 1.0
TERMS = TopicOptions(c=2.0, g=10.0, a=2.0)


def run(quick: bool = False) -> list[Row]:
    sizes = QUICK_SIZES if quick else SIZES
    peers = sum(count for _, count in sizes)
    events_per_s = OWED_PER_S / peers
    events = round((QUICK_S if quick else FOR_S) * events_per_s)
    plan = TrialPlan(sizes, events, events_per_s, 100, options=brisk(peers, TERMS), settle_s_max=240.0)
    began = time.process_time()
    outcome = asyncio.run(run_trial(plan))
    note = _note(outcome, time.process_time() - began)
    bar = INFORMATION if quick else 1.0
    clean = float(outcome.parasites == 0 and outcome.settled)
    return [
        Row(
            f"{peers} live peers: deliveries a second",
            f"{DELIVERIES_PER_S} = 1",
            bar,
            outcome.delivered_per_s / DELIVERIES_PER_S,
            note,
        ),
        Row(f"{peers} live peers: nothing unwanted", "none = 1", bar, clean, f"{outcome.parasites} parasites"),
    ]


def _note(outcome: TrialOutcome, cpu_s: float) -> str:
    owed = sum(each.owed for each in outcome.communities)
    return (
        f"{outcome.delivered} of {owed} in {outcome.seconds:.1f} s, half of them within "
        f"{1000 * outcome.latency_s:.0f} ms; "
        f"{outcome.datagrams} datagrams of {outcome.datagram_bytes_max} bytes at most; gathered in "
        f"{outcome.settle_s:.0f} s; {outcome.delivered / outcome.processor_s:.0f} deliveries in a second of processor "
        f"time, of which it took {cpu_s:.0f} s in all; load {os.getloadavg()[0]:.1f}"
    )
