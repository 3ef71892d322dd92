"""PATH, Figure 5, bottom: what replacing links costs with many subscribers and few events."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Experiment, Published, Scale
from reknit.lab.experiments._overhead import EXCEPTIONS, FEW_PATTERNS, PAPER, PATTERNS, Figure, measure

__all__ = ["EXPERIMENT"]

FIGURE: Final = Figure(
    density=0.8,
    publish_per_s=1.0,
    sizes={Scale.QUICK: (20, 40, 80), Scale.PAPER: tuple(range(20, 201, 20))},
    sweep_brokers={Scale.QUICK: 30, Scale.PAPER: 100},
    sweep_patterns={Scale.QUICK: FEW_PATTERNS, Scale.PAPER: PATTERNS},
    column="overhead",
    rivals=("strawman", "deferred"),
    published={"path": 40.0, "deferred": 15.0},
    title="Replacing a link costs least along its path: many subscribers",
)

EXPERIMENT: Final = Experiment(
    id="path-fig5-dense",
    paper=PAPER,
    figure="Figure 5, bottom",
    claim="With subscribers at 80 % of the brokers and one event per second and broker, replacing links along the "
    "reconfiguration path costs less than with the strawman and than with deferred unsubscriptions.",
    published={
        "path": Published(40.0, "%", "section 5.3, with 200 brokers"),
        "deferred": Published(15.0, "%", "section 5.3, at least"),
        "strawman, messages with 200 brokers": Published(3500.0, "messages", "section 5.3, on average"),
        EXCEPTIONS: Published(None, "", "no number; the claim implies 0"),
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 30},
    points=FIGURE.points,
    measure=measure,
    reduce=FIGURE.reduce,
    plot=FIGURE.draw,
)
