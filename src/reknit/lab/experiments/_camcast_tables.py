"""What CAMCAST's two tables share: three hierarchies, an event through all of each, plain gossip and PMcast beside it.

The columns of the paper are hierarchies with communities of 1000, 100 and 10 processes; of 100 in three levels; and
of 100 in five ("j = 2" and "j = 4" name the last level, counted from 0, as the numbers of parasites show).

Owns: the points and what is measured at them. Must not know: which row a table shows.
"""

from __future__ import annotations

from typing import Final

from reknit.lab.communities import Chain, broadcast, disseminate
from reknit.lab.experiment import Point, Row, Scale
from reknit.lab.rivals import pmcast

__all__ = ["HIERARCHIES", "measure", "points"]

HIERARCHIES: Final[dict[str, tuple[int, ...]]] = {
    "1000, 100, 10": (10, 100, 1000),
    "100 (j = 2)": (100,) * 3,
    "100 (j = 4)": (100,) * 5,
}
"""By the paper's head of the column: sizes, the root first."""


def points(scale: Scale) -> list[Point]:
    """The sizes are the paper's at either scale: one event takes seconds at most."""
    return [{"hierarchy": name} for name in HIERARCHIES]


def measure(point: Point, seed: int) -> Row:
    sizes = HIERARCHIES[str(point["hierarchy"])]
    rising = disseminate(Chain(sizes), f"{seed}/rising")
    root = disseminate(Chain(sizes, at=0), f"{seed}/root")
    plain = broadcast(Chain(sizes, at=0), f"{seed}/plain")
    all_want, few_want = pmcast(Chain(sizes), f"{seed}/PMcast"), pmcast(Chain(sizes, at=0), f"{seed}/PMcast")
    return {
        "rounds": rising.rounds,
        "reached_root": bool(rising.reached[0]),
        "parasites": rising.parasites + root.parasites,
        "plain_rounds": plain.rounds,
        "plain_parasites": plain.parasites,
        "pmcast_rounds": all_want.rounds,
        "pmcast_parasites": few_want.parasites,
    }
