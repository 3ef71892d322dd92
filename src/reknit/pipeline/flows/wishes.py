"""``wishes``: from a trace, what plans of the ring and of placement are made from."""

from __future__ import annotations

from reknit.pipeline import wishes as made
from reknit.pipeline.flow import Flow, Step
from reknit.pipeline.trace import TRACE

__all__ = ["FLOW"]

FLOW = Flow(
    name="wishes",
    about="brokers, what their clients want and how much is published: the inputs of `ring` and `placement`",
    parameters=made.Wished,
    inputs=(TRACE,),
    steps=(
        Step("network", "the brokers, and where each is on the ring", ("trace",), made.network, made.NETWORK),
        Step(
            "wants",
            "which broker wants which topic",
            ("trace",),
            made.wants,
            made.WANTS,
            carries="wishes",
            takes=made.WORDS,
            leaves=made.not_wanted,
        ),
        Step(
            "rates",
            "events by topic",
            ("trace",),
            made.rates,
            made.RATES,
            carries="events",
            takes=made.PUBLICATIONS,
            leaves=made.not_rated,
        ),
        Step("homes", "clients, and where they are", ("trace",), made.homes, made.HOMES),
        Step("interests", "what each client wants", ("trace", "homes"), made.interests, made.INTERESTS),
    ),
)
