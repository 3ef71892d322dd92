"""CAMCAST, Figure 24: how many of the messages in a were of use,
by the probability of passing it upward, on real sockets.
"""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Published
from reknit.lab.experiments._camcast_live import LiveFigure, rises_with

__all__ = ["EXPERIMENT"]


EXPERIMENT: Final = LiveFigure(
    id="camcast-fig24",
    figure="Figure 24",
    letter="a",
    column="efficiency",
    claim="The more members pass events upward, the more messages in a are copies.",
    title="Efficiency",
    unit="% of messages",
    holds=rises_with("efficiency", -1.0),
    published={"scamp, p_sel 1": Published(None, "% of messages", "a curve")},
).experiment()
