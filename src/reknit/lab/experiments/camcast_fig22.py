"""CAMCAST, Figure 22: how often all members of a get an event,
by the probability of passing it upward, on real sockets.
"""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Published
from reknit.lab.experiments._camcast_live import LiveFigure, headline

__all__ = ["EXPERIMENT"]


EXPERIMENT: Final = LiveFigure(
    id="camcast-fig22",
    figure="Figure 22",
    letter="a",
    column="reliability",
    claim="With 7 % of the processes passing events upward, all members of a get them.",
    title="Reliability",
    unit="% of events",
    holds=headline,
    published={
        "structured, a few forwarding, c = 5: reliability": Published(
            100.0, "% of events", "the abstract, at 80, 30 and 7"
        )
    },
).experiment()
