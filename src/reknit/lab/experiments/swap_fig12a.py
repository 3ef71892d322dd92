"""SWAP, Figure 12a: the bytes of one SwapLink where every broker knows all subscriptions.

Nothing about subscriptions has to travel. Here, though, brokers know only in which direction each other broker lies,
and not the tree; so the goal has to be told who is on the mover's side: names, and no patterns.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from reknit.lab.experiment import Experiment, Findings, Published, Rows, Scale, Verdict
from reknit.lab.experiments import _swap_kinds as kinds
from reknit.lab.experiments._swap import GLOBAL, PAPER, measure, measured
from reknit.lab.swapping import KINDS_SAID, TABLES

__all__ = ["EXPERIMENT"]

BELOW_KB: Final = 0.25
DEAREST: Final = "dearest kind"


def reduce(rows: Rows) -> Findings:
    """As claimed if it is below the published bound all in all."""
    found = dict(kinds.findings(rows))
    shares = {kind: measured(rows, f"{kind}_bytes").value for kind in KINDS_SAID if kind != TABLES}
    dearest = max(shares, key=lambda kind: shares[kind])
    found[DEAREST] = measured(rows, f"{dearest}_bytes", unit=f"bytes: {dearest}")
    holds = found[kinds.ALL].value < BELOW_KB
    return Findings(found, Verdict.AS_CLAIMED if holds else Verdict.NOT_AS_CLAIMED)


EXPERIMENT: Final = Experiment(
    id="swap-fig12a",
    paper=PAPER,
    figure="Figure 12a",
    claim="Where every broker knows all subscriptions, one SwapLink costs less than 0.25 KB.",
    published={
        kinds.ALL: Published(BELOW_KB, "KB", "section VI, below"),
        kinds.TRAVELLED: Published(0.0, "KB", "section VI, nothing about subscriptions"),
        kinds.PUBLICATIONS: Published(0.0, "KB", "section VI, useless forwarding is avoided"),
        DEAREST: Published(None, "", "no number; all kinds have a similar cost"),
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 30},
    points=partial(kinds.points, routing=GLOBAL),
    measure=measure,
    reduce=reduce,
    plot=partial(kinds.draw, title="One SwapLink, where every broker knows all subscriptions"),
)
