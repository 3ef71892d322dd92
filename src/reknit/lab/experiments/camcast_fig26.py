"""CAMCAST, Figure 26: hops until the last member of a has an event,
by the probability of passing it upward, on real sockets.
"""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Published
from reknit.lab.experiments._camcast_live import LiveFigure, sooner

__all__ = ["EXPERIMENT"]


EXPERIMENT: Final = LiveFigure(
    id="camcast-fig26",
    figure="Figure 26",
    letter="a",
    column="rounds",
    claim="The more likely events rise, the sooner a has them.",
    title="Latency",
    unit="hops",
    holds=sooner,
    published={"scamp, p_sel 1": Published(None, "hops", "a curve")},
    factor=1.0,
).experiment()
