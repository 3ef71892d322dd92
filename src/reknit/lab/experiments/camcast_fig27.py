"""CAMCAST, Figure 27: messages from g to d,
by the probability of passing it upward, on real sockets.
"""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Published
from reknit.lab.experiments._camcast_live import LiveFigure, rises_with

__all__ = ["EXPERIMENT"]


EXPERIMENT: Final = LiveFigure(
    id="camcast-fig27",
    figure="Figure 27",
    letter="d",
    column="upward",
    claim="The number of messages from g to d grows with the probability.",
    title="Upward messages",
    unit="messages for an event",
    holds=rises_with("upward"),
    published={"scamp, p_sel 1": Published(None, "messages for an event", "a curve")},
    factor=1.0,
).experiment()
