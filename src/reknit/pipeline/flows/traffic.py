"""``traffic``: what the network carried, what its clients want, and what changes cost."""

from __future__ import annotations

from reknit.pipeline import traffic as made
from reknit.pipeline.flow import Flow, Step
from reknit.pipeline.journeys import JOURNEYS
from reknit.pipeline.trace import TRACE
from reknit.trace.records import Kind

__all__ = ["FLOW"]

FLOW = Flow(
    name="traffic",
    about="rates by topic and what to expect, the load of links, subscriptions, hot topics, delays, cost of changes",
    parameters=made.Watched,
    inputs=(TRACE,),
    steps=(
        Step(
            "published",
            "events by window and topic",
            ("trace",),
            made.published,
            made.PUBLISHED,
            carries="events",
            takes=made.part("publications", Kind.PUBLISHED),
        ),
        Step("rates", "rates and their prediction (Eq. 8)", ("published",), made.rates, made.RATES, carries="rows"),
        Step(
            "loads",
            "the load matrix of links",
            ("trace",),
            made.loads,
            made.LOADS,
            carries="events",
            takes=made.part("crossings", Kind.FORWARDED),
        ),
        Step(
            "subscriptions",
            "what brokers' clients want",
            ("trace",),
            made.subscriptions,
            made.SUBSCRIPTIONS,
            carries="clients",
            takes=made.part("words about wishes", Kind.SUBSCRIBED, Kind.UNSUBSCRIBED),
            leaves=made.not_held,
        ),
        Step(
            "hot_topics",
            "topics that cross most links",
            ("trace",),
            made.hot_topics,
            made.HOT_TOPICS,
            carries="published + delivered + crossed",
            takes=made.part("publications, crossings and deliveries", *JOURNEYS),
            leaves=made.not_hot,
        ),
        Step(
            "delays",
            "delays by number of links",
            ("trace",),
            made.delays,
            made.DELAYS,
            carries="deliveries",
            takes=made.part("deliveries", Kind.DELIVERED),
        ),
        Step(
            "changes",
            "what each change cost",
            ("trace",),
            made.changes,
            made.CHANGES,
            carries="steps",
            takes=made.part("steps of changes", Kind.CHANGE),
        ),
    ),
)
