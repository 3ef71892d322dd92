"""PATH, Figure 6: what replacing links costs with few subscribers and many events."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Experiment, Published, Scale
from reknit.lab.experiments._overhead import EXCEPTIONS, FEW_PATTERNS, PAPER, PATTERNS, Figure, measure

__all__ = ["EXPERIMENT"]

FIGURE: Final = Figure(
    density=0.2,
    publish_per_s=50.0,
    sizes={Scale.QUICK: (20, 40), Scale.PAPER: tuple(range(20, 201, 20))},
    sweep_brokers={Scale.QUICK: 20, Scale.PAPER: 100},
    sweep_patterns={Scale.QUICK: (max(PATTERNS),), Scale.PAPER: FEW_PATTERNS},
    column="overhead",
    rivals=("strawman", "deferred"),
    published={"path": 60.0, "deferred": 10.0},
    title="Many events make misrouting count",
)

EXPERIMENT: Final = Experiment(
    id="path-fig6",
    paper=PAPER,
    figure="Figure 6",
    claim="With subscribers at 20 % of the brokers and 50 events per second and broker, replacing links along the "
    "reconfiguration path still costs less than with the strawman and than with deferred unsubscriptions.",
    published={
        "path": Published(60.0, "%", "section 5.3, about"),
        "deferred": Published(10.0, "%", "section 5.3, about"),
        EXCEPTIONS: Published(None, "", "no number; the claim implies 0"),
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 30},
    points=FIGURE.points,
    measure=measure,
    reduce=FIGURE.reduce,
    plot=FIGURE.draw,
)
