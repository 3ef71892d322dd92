"""``backtest``: what a subscription would have received."""

from __future__ import annotations

from reknit.pipeline import backtest as made
from reknit.pipeline.flow import Flow, Step
from reknit.pipeline.trace import TRACE

__all__ = ["FLOW"]

FLOW = Flow(
    name="backtest",
    about="what a subscription would have received of a stored history, how often, and from whom",
    parameters=made.Tried,
    inputs=(TRACE,),
    steps=(
        Step("received", "the events that match", ("trace",), made.received, made.RECEIVED),
        Step("by_topic", "by topic", ("received",), made.by_topic, made.BY_TOPIC, carries="events"),
        Step("by_publisher", "by publisher", ("received",), made.by_publisher, made.BY_PUBLISHER, carries="events"),
        Step("by_time", "by window of time", ("received",), made.by_time, made.BY_TIME, carries="events"),
    ),
)
