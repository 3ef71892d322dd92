"""CAMCAST, Figure 20: how likely a member of a gets an event,
by the probability of passing it upward, on real sockets.
"""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Published
from reknit.lab.experiments._camcast_live import LiveFigure, converges

__all__ = ["EXPERIMENT"]


EXPERIMENT: Final = LiveFigure(
    id="camcast-fig20",
    figure="Figure 20",
    letter="a",
    column="reception",
    claim="All three memberships converge to a reception of 100 % in a.",
    title="Reception",
    unit="% of members",
    holds=converges,
    published={"scamp, p_sel 1": Published(None, "% of members", "a curve")},
).experiment()
