"""PATH, Figure 7: how many events go where nobody wants them while links are replaced."""

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
    column="misrouted",
    rivals=("deferred",),
    published={},
    title="Events that go where nobody wants them",
)

EXPERIMENT: Final = Experiment(
    id="path-fig7",
    paper=PAPER,
    figure="Figure 7",
    claim="With subscribers at 20 % of the brokers and 50 events per second and broker, fewer events are misrouted "
    "while links are replaced along the reconfiguration path than with deferred unsubscriptions.",
    published={
        "path": Published(None, "events per change", "no number; the curve lies below that of deferred"),
        "deferred": Published(None, "events per change", "no number"),
        EXCEPTIONS: Published(None, "", "no number; the claim implies 0"),
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 30},
    points=FIGURE.points,
    measure=measure,
    reduce=FIGURE.reduce,
    plot=FIGURE.draw,
)
