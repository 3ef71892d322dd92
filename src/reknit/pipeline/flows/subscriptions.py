"""``subscriptions``: visits and friendships to a stream of subscribing and unsubscribing, by day."""

from __future__ import annotations

from reknit.pipeline import subscriptions as made
from reknit.pipeline.flow import Bars, Flow, Step

__all__ = ["FLOW"]

FLOW = Flow(
    name="subscriptions",
    about="visits and friendships to a stream of subscriptions that come and go; `reknit replay` plays it",
    parameters=made.Following,
    inputs=(made.VISITED, made.EDGES),
    steps=(
        Step("friends", "who follows whom", ("visits", "edges"), made.friends, made.FRIENDS),
        Step("stays", "reasons to want a cell", ("visits", "friends"), made.stays, made.STAYS, carries="own"),
        Step("interests", "who wants a cell when", ("stays",), made.interests, made.INTERESTS, carries="stays"),
        Step(
            "stream",
            "subscribe and unsubscribe, in the order of time",
            ("interests", "visits"),
            made.stream,
            made.STREAM,
            carries="opens",
            by=("day",),
        ),
        Step("by_broker", "changes by broker", ("stream",), made.by_broker, made.BY_BROKER, carries="changes"),
        Step("by_topic", "changes by topic", ("stream",), made.by_topic, made.BY_TOPIC, carries="changes"),
        Step("by_day", "changes by day (Figure 5c)", ("stream",), made.by_day, made.BY_DAY, carries="changes"),
    ),
    charts=(Bars("changes.png", "by_day", "day", "changes", "Subscriptions that came and went, by day"),),
)
