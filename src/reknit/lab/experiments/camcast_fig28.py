"""CAMCAST, Figure 28: messages from d to a,
by the probability of passing it upward, on real sockets.
"""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Published
from reknit.lab.experiments._camcast_live import LiveFigure, rises_with

__all__ = ["EXPERIMENT"]


EXPERIMENT: Final = LiveFigure(
    id="camcast-fig28",
    figure="Figure 28",
    letter="a",
    column="upward",
    claim="The number of messages from d to a grows with the probability.",
    title="Upward messages",
    unit="messages for an event",
    holds=rises_with("upward"),
    published={"scamp, p_sel 1": Published(None, "messages for an event", "a curve")},
    factor=1.0,
).experiment()
