"""``traffic``: what the network carried, what its clients want, and what changes cost."""

from __future__ import annotations

from reknit.pipeline import traffic as made
from reknit.pipeline.flow import Flow, Step
from reknit.pipeline.trace import TRACE

__all__ = ["FLOW"]

FLOW = Flow(
    name="traffic",
    about="rates by topic and what to expect, the load of links, subscriptions, hot topics, delays, cost of changes",
    parameters=made.Watched,
    inputs=(TRACE,),
    steps=(
        Step("published", "events by window and topic", ("trace",), made.published, made.PUBLISHED),
        Step("rates", "rates and their prediction (Eq. 8)", ("published",), made.rates, made.RATES),
        Step("loads", "the load matrix of links", ("trace",), made.loads, made.LOADS),
        Step("subscriptions", "what brokers' clients want", ("trace",), made.subscriptions, made.SUBSCRIPTIONS),
        Step("hot_topics", "topics that cross most links", ("trace",), made.hot_topics, made.HOT_TOPICS),
        Step("delays", "delays by number of links", ("trace",), made.delays, made.DELAYS),
        Step("changes", "what each change cost", ("trace",), made.changes, made.CHANGES),
    ),
)
