"""CAMCAST, Figure 17: how likely a process that lives gets an event,
where every process takes others for failed independently.
"""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Published
from reknit.lab.experiments._camcast import LEVELS, Figure, loses_little, share

__all__ = ["EXPERIMENT"]


EXPERIMENT: Final = Figure(
    id="camcast-fig17",
    figure="Figure 17",
    claim="With 30 % of the processes crashed, reception is degraded by only 5 % against plain gossip.",
    title="Reception, weakly consistent",
    unit="% of processes that live",
    letters=LEVELS,
    value=share,
    holds=loses_little,
    published={"g, 30 % failed": Published(None, "%", "a curve; the abstract says: at most 5 % below plain gossip")},
    weak=True,
    plain=True,
).experiment()
