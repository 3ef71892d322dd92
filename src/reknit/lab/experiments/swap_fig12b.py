"""SWAP, Figure 12b: the bytes of one SwapLink where tables have to travel with it."""

from __future__ import annotations

from functools import partial
from typing import Final

from reknit.lab.experiment import Experiment, Findings, Measured, Published, Rows, Scale, Verdict
from reknit.lab.experiments import _swap_kinds as kinds
from reknit.lab.experiments._swap import FORWARDING, PAPER, measure

__all__ = ["EXPERIMENT"]

SHARE: Final = "share of the tables"
SHARE_MIN: Final = 99.0


def reduce(rows: Rows) -> Findings:
    """As claimed if nearly all of it is tables; how large these are depends on the tree and on what is wanted twice."""
    found = dict(kinds.findings(rows))
    share = kinds.share_of_tables(rows)
    found[SHARE] = Measured(share, "%")
    return Findings(found, Verdict.AS_CLAIMED if share > SHARE_MIN else Verdict.NOT_AS_CLAIMED)


EXPERIMENT: Final = Experiment(
    id="swap-fig12b",
    paper=PAPER,
    figure="Figure 12b",
    claim="Where brokers know only what their neighbours want, more than 99 % of what one SwapLink costs is tables.",
    published={
        kinds.ALL: Published(1000.0, "KB", "section VI, slightly above"),
        SHARE: Published(SHARE_MIN, "%", "section VI, more than"),
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 30},
    points=partial(kinds.points, routing=FORWARDING),
    measure=measure,
    reduce=reduce,
    plot=partial(kinds.draw, title="One SwapLink, where tables travel with it"),
)
