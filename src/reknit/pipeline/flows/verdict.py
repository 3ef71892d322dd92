"""``verdict``: an independent judgement over traces, by subscriber and by change."""

from __future__ import annotations

from reknit.pipeline import verdict as made
from reknit.pipeline.flow import Flow, Step
from reknit.pipeline.trace import TRACE

__all__ = ["FLOW"]

FLOW = Flow(
    name="verdict",
    about="what was lost, doubled, unwanted, out of order or travelled in vain, by subscriber and by change",
    parameters=made.Judged,
    inputs=(TRACE,),
    steps=(
        Step("moments", "records with their places", ("trace",), made.moments, made.MOMENTS, carries="records"),
        Step(
            "findings",
            "what is wrong, one row each",
            ("moments",),
            made.findings,
            made.FINDINGS,
            carries="records",
            takes=made.DELIVERIES,
        ),
        Step("parasites", "events that peers did not want", ("trace",), made.parasites, made.PARASITES),
        Step("verdicts", "by run", ("moments", "findings", "parasites"), made.verdicts, made.VERDICTS),
        Step("subscribers", "by client", ("findings",), made.subscribers, made.SUBSCRIBERS),
        Step("changes", "by change of the tree", ("moments", "findings"), made.changes, made.CHANGES),
    ),
)
