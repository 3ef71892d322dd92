"""CAMCAST, Figure 19: how likely a member of d gets an event,
by the probability of passing it upward, on real sockets.
"""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Published
from reknit.lab.experiments._camcast_live import LiveFigure, converges

__all__ = ["EXPERIMENT"]


EXPERIMENT: Final = LiveFigure(
    id="camcast-fig19",
    figure="Figure 19",
    letter="d",
    column="reception",
    claim="All three memberships converge to a reception of 100 % in d.",
    title="Reception",
    unit="% of members",
    holds=converges,
    published={"scamp, p_sel 1": Published(None, "% of members", "a curve")},
).experiment()
