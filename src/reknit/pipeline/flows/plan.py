"""``plan``: what a plan of the tree rests on, with the exact gain of every possible swap."""

from __future__ import annotations

from reknit.pipeline import plan as made
from reknit.pipeline.flow import Flow, Step
from reknit.pipeline.trace import TRACE

__all__ = ["FLOW"]

FLOW = Flow(
    name="plan",
    about="which brokers events concern, the tree, and the exact gain of every swap; `reknit plan` makes a plan of it",
    parameters=made.Planned,
    inputs=(TRACE,),
    steps=(
        Step(
            "flows",
            "events by the brokers they concern",
            ("trace",),
            made.flows,
            made.FLOWS,
            carries="records",
            takes=made.ENDS,
            leaves=made.not_watched,
        ),
        Step("links", "the tree at the end", ("trace",), made.links, made.LINKS),
        Step("wanted", "what brokers' clients want", ("trace",), made.wanted, made.WANTED),
        Step("gains", "every possible swap, and what it saves", ("flows", "links"), made.gains, made.GAINS),
    ),
)
