"""CAMCAST, Figure 25: hops until the last member of d has an event,
by the probability of passing it upward, on real sockets.
"""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Published
from reknit.lab.experiments._camcast_live import LiveFigure, sooner

__all__ = ["EXPERIMENT"]


EXPERIMENT: Final = LiveFigure(
    id="camcast-fig25",
    figure="Figure 25",
    letter="d",
    column="rounds",
    claim="The more likely events rise, the sooner d has them.",
    title="Latency",
    unit="hops",
    holds=sooner,
    published={"scamp, p_sel 1": Published(None, "hops", "a curve")},
    factor=1.0,
).experiment()
