"""The page that the loop leaves: one HTML file with everything in it, to be opened or sent.

Owns: what stands on it. Must not know: how anything was found out.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from reknit.cli._demo.verdict import Verdict
from reknit.cli._trees import Picture, draw

if TYPE_CHECKING:
    from reknit.cli._demo.loop import LoopOutcome

__all__ = ["page"]

_STYLE = """body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse } td, th { padding: .2rem .9rem .2rem 0; text-align: left }
td.n, th.n { text-align: right } .big { font-size: 2rem } img { max-width: 100% } .quiet { color: #666 }"""


def page(outcome: LoopOutcome) -> str:
    title = "reknit: a plan, carried out while events flowed"
    parts = [_headline(outcome), _pictures(outcome), _numbers(outcome), _steps(outcome), _verdicts(outcome)]
    body = "\n".join(parts)
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n<h1>{title}</h1>\n{body}\n</body></html>\n'


def _headline(outcome: LoopOutcome) -> str:
    return (
        f'<p class="big">{outcome.saved:.0%} fewer messages over links; '
        f"the prediction is off by {outcome.off:.1%}</p>\n"
        f"<p>{len(outcome.before)} links, {len(outcome.plan.steps)} swaps, none of which an event waited for.</p>"
    )


def _pictures(outcome: LoopOutcome) -> str:
    made = io.BytesIO()
    before, after = outcome.watched, outcome.measured
    draw(
        [
            Picture(f"before: {before.per_event:.2f} links an event", outcome.before, before.by_link),
            Picture(f"after: {after.per_event:.2f} links an event", outcome.after, after.by_link),
        ],
        made,
    )
    data = base64.b64encode(made.getvalue()).decode()
    return (
        f'<p><img alt="the tree before and after, links as wide as their load" src="data:image/png;base64,{data}"></p>'
    )


def _numbers(outcome: LoopOutcome) -> str:
    rows = [
        ("watched", outcome.watched.events, outcome.watched.crossed, outcome.watched.per_event),
        ("predicted for the same traffic", outcome.plan.evidence.events, outcome.plan.cost_after, outcome.predicted),
        ("measured afterwards", outcome.measured.events, outcome.measured.crossed, outcome.measured.per_event),
    ]
    cells = [(what, f"{events:,}", f"{crossed:,}", f"{each:.3f}") for what, events, crossed, each in rows]
    return _table(("", "events", "crossings of links", "for each event"), cells)


def _steps(outcome: LoopOutcome) -> str:
    cells = [
        (f"{step.mover} - {step.middle} becomes {step.mover} - {step.goal}", f"{step.gain:,}", f"{step.cost_after:,}")
        for step in outcome.plan.steps
    ]
    return "<h2>The plan</h2>\n" + _table(("swap", "saves", "leaves"), cells)


def _verdicts(outcome: LoopOutcome) -> str:
    said = (("the brokers' trace", outcome.trace), ("the clients' notes", outcome.clients))
    lines = [
        f"<p>{escape(source)}, {verdict.owed:,} deliveries owed: <b>{_sentence(verdict)}</b></p>"
        for source, verdict in said
    ]
    spark = "  ".join(f"{name.replace('_', ' ')} {count}" for name, count in outcome.spark.items())
    lines.append(f"<p>the trace, judged on Spark: <b>{escape(spark)}</b></p>")
    lines.append(f'<p class="quiet">seed {outcome.seed}; {outcome.seconds:.0f} s in all</p>')
    return "<h2>The verdict</h2>\n" + "\n".join(lines)


def _sentence(verdict: Verdict) -> str:
    return f"lost {verdict.lost}  duplicated {verdict.duplicated}  out of order {verdict.out_of_order}"


def _table(head: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    def cells(tag: str, values: Iterable[str]) -> str:
        return "".join(
            f"<{tag}{' class=n' if place else ''}>{escape(value)}</{tag}>" for place, value in enumerate(values)
        )

    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><tr>{cells('th', head)}</tr>\n{body}</table>"
