"""Trees that change by swaps: which swap is one, which replacement keeps a tree, and by which swaps it is done.

Pure functions over names and links, for whoever sees a whole tree and plans: the brokers themselves see only their
neighbours, and check again. ``Step(a, b, c)`` turns the link a - b into a link a - c, where c is a neighbour of b, so
that the tree stays whole.

To replace the link a - b by a link c - d, where c is on the side of a and d on that of b, its end at a slides along the
path from a to c, then its end at b along the path from b to d. Each hop of either path is one swap, and no other link
changes.

Owns: the plan, and the messages that one swap takes. Must not know: brokers' state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from reknit.core.overlay.shapes import Edge, adjacency, find_path
from reknit.wire.messages import Close, Entry, Lock, LockAck, Message, Open, Side, Swap, SwapId

__all__ = [
    "ID_FLOOR",
    "NoReplacement",
    "Step",
    "after",
    "plan_replacement",
    "side_messages",
    "swap_messages",
    "why_no_swap",
]

ID_FLOOR = 1 << 48
"""Numbers of swaps are above it, those of join waves below: a caller's greeting shows which it comes for."""

SIDE_PATTERNS_MAX = 64
"""Patterns in one message of a table that travels."""


class Step(NamedTuple):
    """One swap of a plan: the mover's link to the middle becomes a link to the goal."""

    mover: str
    middle: str
    goal: str

    @property
    def inverse(self) -> Step:
        return Step(self.mover, self.goal, self.middle)


def after(edges: Iterable[Edge], step: Step) -> list[Edge]:
    """The links when the swap is done."""
    old = {step.mover, step.middle}
    return [(step.mover, step.goal) if set(edge) == old else edge for edge in edges]


def why_no_swap(edges: Sequence[Edge], step: Step) -> str:
    """Why this is no swap of this tree; empty if it is one."""
    adjacent = adjacency(edges)
    mover, middle, goal = step
    if len(set(step)) < len(step):
        return "a swap needs three different brokers"
    if goal in adjacent.get(mover, ()):
        return f"{mover} and {goal} are linked already"
    for one, other in ((mover, middle), (goal, middle)):
        if other not in adjacent.get(one, ()):
            return f"{one} is no neighbour of {middle}, which is linked with {_names(adjacent.get(middle, ()))}"
    return ""


def _names(brokers: Iterable[str]) -> str:
    return ", ".join(sorted(brokers)) or "nobody"


class NoReplacement(ValueError):
    """The tree would not stay one, or would not change."""


def plan_replacement(edges: Sequence[Edge], old: Edge, new: Edge) -> list[Step]:
    """The swaps that turn link ``old`` into link ``new``, either way round; ``NoReplacement`` if there are none."""
    _refuse_what_is_no_link(edges, old, new)
    a, b = old
    rest = [edge for edge in edges if set(edge) != set(old)]
    for c, d in (new, new[::-1]):
        head, tail = find_path(rest, a, c), find_path(rest, b, d)
        if head and tail:
            slide = [Step(b, here, there) for here, there in pairwise(head)]
            return slide + [Step(c, here, there) for here, there in pairwise(tail)]
    raise NoReplacement(_why_no_tree(edges, rest, old, new))


def _refuse_what_is_no_link(edges: Sequence[Edge], old: Edge, new: Edge) -> None:
    adjacent = adjacency(edges)
    for one, other in (old, new):
        if one == other:
            raise NoReplacement(f"{one} cannot be linked with itself")
    if old[1] not in adjacent.get(old[0], ()):
        raise NoReplacement(
            f"there is no link {old[0]} - {old[1]}; {old[0]} is linked with {_names(adjacent.get(old[0], ()))}"
        )
    if set(old) == set(new):
        raise NoReplacement(f"the new link is the old one: {old[0]} - {old[1]}")
    if new[1] in adjacent.get(new[0], ()):
        raise NoReplacement(f"{new[0]} and {new[1]} are linked already")


def _why_no_tree(edges: Sequence[Edge], rest: Sequence[Edge], old: Edge, new: Edge) -> str:
    """The new link does not join the two sides that the old one did."""
    strangers = [each for each in new if not find_path(edges, old[0], each)]
    if strangers:
        return f"{strangers[0]} is in another tree than {old[0]} - {old[1]}, and the old tree would be split"
    cycle = find_path(rest, *new)
    return f"{new[0]} - {new[1]} would close a cycle ({' - '.join([*cycle, cycle[0]])}), and the tree would be split"


# --- what one swap takes


def side_messages(swap: SwapId, mover: list[Entry], middle: list[Entry]) -> Iterator[Side]:
    """The tables that travel: what is wanted behind the mover, and behind the middle alone."""
    for entries, is_mover in ((mover, True), (middle, False)):
        for origin, patterns in entries:
            for start in range(0, len(patterns), SIDE_PATTERNS_MAX) if patterns else (0,):
                yield Side(swap, is_mover, [(origin, patterns[start : start + SIDE_PATTERNS_MAX])])


def swap_messages(step: Step, address: str, mover: list[Entry], middle: list[Entry]) -> list[Message]:
    """All that the three say to each other where nothing goes wrong. ``address``: where the mover can be dialled."""
    swap = (step.mover, ID_FLOOR)
    lock, ack, go = Lock(swap, step.middle, step.goal, address), LockAck(swap, False), Swap(swap, False)
    close_ab, close_ba = Close(swap, True, False), Close(swap, False, False)
    tables = side_messages(swap, mover, middle)
    return [lock, lock, ack, ack, go, *tables, go, go, Open(swap, False), close_ab, close_ab, close_ba, close_ba]
