"""CAMCAST, Figure 17: how likely a process that lives gets an event,
where every process takes others for failed independently.
"""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Published, Rows
from reknit.lab.experiments._camcast import LEVELS, Figure, plain_reception, share
from reknit.lab.reduce import group, numbers

__all__ = ["EXPERIMENT"]


def holds(rows: Rows) -> bool:
    """With at most 30 % failed, what is lost by that is at most 5 points more than plain gossip's."""
    by_share = {float(failed): some for (failed,), some in group(rows, "failed").items()}
    return all(
        _reception(by_share[0.0]) - _reception(some) <= 5.0 + plain_reception(by_share[0.0]) - plain_reception(some)
        for failed, some in by_share.items()
        if failed <= 0.3
    )


def _reception(rows: Rows) -> float:
    """Of all processes of all communities, in percent."""
    reached = sum(sum(numbers(rows, f"reached_{letter}")) for letter in LEVELS)
    return 100 * reached / sum(sum(numbers(rows, f"alive_{letter}")) for letter in LEVELS)


EXPERIMENT: Final = Figure(
    id="camcast-fig17",
    figure="Figure 17",
    claim="With 30 % of the processes crashed, reception is degraded by only 5 % against plain gossip.",
    title="Reception, weakly consistent",
    unit="% of processes that live",
    letters=LEVELS,
    value=share,
    holds=holds,
    published={"g, 30 % failed": Published(None, "%", "a curve; the abstract says: at most 5 % below plain gossip")},
    weak=True,
).experiment()
