"""CAMCAST beside what its section 4 compares it with: messages, parasites, reception, rounds and memory, all simulated.

The event is one of the middle community, so that some processes do not want it and some that do are a level up. Nobody
has failed; the channel is the paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from reknit.community.formulas import fan_out
from reknit.lab import plot
from reknit.lab.communities import Chain, Spread, broadcast, disseminate
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Row, Rows, Scale, Verdict
from reknit.lab.experiments._camcast import PAPER, QUICK_SIZES, SIZES
from reknit.lab.reduce import estimate, group, numbers
from reknit.lab.rivals import Rival, hierarchical, multicast, pmcast

__all__ = ["EXPERIMENT"]

RIVALS: Final[dict[str, Callable[[Chain, str], Rival]]] = {
    "multicast": multicast,
    "hierarchical broadcast": hierarchical,
    "PMcast": pmcast,
}
NAMES: Final = ("CAMCAST", "broadcast", *RIVALS)
AT: Final = 1


def points(scale: Scale) -> list[Point]:
    root, middle, bottom = QUICK_SIZES if scale is Scale.QUICK else SIZES
    return [{"root": root, "middle": middle, "bottom": bottom, "rival": name} for name in NAMES]


def measure(point: Point, seed: int) -> Row:
    chain = Chain((int(point["root"]), int(point["middle"]), int(point["bottom"])), at=AT)
    name = str(point["rival"])
    if name in RIVALS:
        found = RIVALS[name](chain, f"{seed}/{name}")
    elif name == "CAMCAST":
        found = _rival(chain, disseminate(chain, f"{seed}/{name}"), fan_out(chain.sizes[-1], chain.c) + chain.z)
    else:
        found = _rival(chain, broadcast(chain, f"{seed}/{name}"), fan_out(sum(chain.sizes), chain.c))
    return {
        "received": 100 * found.reached / found.wanted,
        "messages": found.messages,
        "parasites": found.parasites,
        "rounds": found.rounds,
        "memory": found.memory,
    }


def _rival(chain: Chain, spread: Spread, memory: int) -> Rival:
    wanted, reached = sum(chain.sizes[: AT + 1]), sum(spread.reached[: AT + 1])
    sent = sum(spread.inside) + sum(spread.upward)
    return Rival(wanted, reached, sent, spread.parasites, spread.rounds, memory)


def reduce(rows: Rows) -> Findings:
    """As claimed if communities have no parasites, where others have, and need less memory than multicast."""
    found: dict[str, Measured] = {}
    means: dict[tuple[str, str], float] = {}
    units = {"received": "%", "messages": "", "parasites": "", "rounds": "rounds", "memory": "entries at most"}
    for name in NAMES:
        some = group(rows, "rival")[name,]
        for column, unit in units.items():
            each = estimate(numbers(some, column))
            means[name, column] = each.mean
            found[f"{name}: {column}"] = Measured(each.mean, unit, each.low, each.high)
    clean = means["CAMCAST", "parasites"] == means["multicast", "parasites"] == 0
    others = all(means[name, "parasites"] > 0 for name in ("broadcast", "hierarchical broadcast", "PMcast"))
    small = means["CAMCAST", "memory"] < means["multicast", "memory"]
    return Findings(found, Verdict.AS_CLAIMED if clean and others and small else Verdict.NOT_AS_CLAIMED)


def draw(rows: Rows) -> Any:
    figure = plot.new_figure(
        9.5, 5.5, "CAMCAST beside others", "messages sent for one event, and those of them unwanted"
    )
    axes = figure.subplots()
    plot.dress(axes, "", "", "messages")
    groups = group(rows, "rival")
    for number, column in enumerate(("messages", "parasites")):
        places = [place + 0.3 * number for place in range(len(NAMES))]
        heights = [estimate(numbers(groups[name,], column)).mean for name in NAMES]
        axes.bar(places, heights, width=0.28, color=plot.PALETTE[number], label=column)
    axes.set_xticks([place + 0.15 for place in range(len(NAMES))], list(NAMES))
    axes.legend(frameon=False, fontsize=9)
    return figure


EXPERIMENT: Final = Experiment(
    id="camcast-rivals",
    paper=PAPER,
    figure="Section 4",
    claim="No parasite events, with less memory than gossip multicast needs at the root, and about as many messages.",
    published={
        "CAMCAST: parasites": Published(0.0, "", "Table 2, row 1"),
        "PMcast: parasites": Published(None, "", "Table 2, row 3, with parameters that are not given"),
    },
    seeds={Scale.QUICK: 5, Scale.PAPER: 100},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
