"""What messages weigh (PATH, section 5.3), and the least that any algorithm has to say.

A (un)subscription weighs 1; RECMSG a third, and two thirds for each pattern that it names; CTRLMSG 0.1; FLUSHMSG 0.2;
an event that goes where nobody wants it 1 per hop. A message that carries several (un)subscriptions at once is weighed
as RECMSG is: a fixed third for its head, and two thirds for each pattern, so that one with a single pattern weighs 1 as
before. What a new neighbour is told in one snapshot stands for the paper's subscriptions one by one, and is weighed as
these. A digest is weighed as a pattern, a question as a CTRLMSG.

Owns: the weights and the bound. Must not know: who sends what when.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from reknit.core.overlay.shapes import Edge, adjacency
from reknit.lab.worlds import Replacement, replaced
from reknit.wire.messages import AskHeld, Ctrl, Flush, Held, Message, Rec, Snapshot, Sub, Unsub

__all__ = ["ideal_bits", "lower_bound", "weigh"]

CTRL = 0.1
FLUSH = 0.2


def weigh(message: Message) -> float:
    match message:
        case Sub(patterns=patterns) | Unsub(patterns=patterns):
            return _named(len(patterns), 1)
        case Held(patterns=patterns, last=last):
            return _named(len(patterns), last)
        case Rec(add=add, delete=delete, digest=digest, last=last):
            return _named(len(add) + len(delete) + bool(digest and last), last)
        case Snapshot(entries=entries):
            return float(sum(len(patterns) for _, patterns in entries))
        case Ctrl() | AskHeld():
            return CTRL
        case Flush():
            return FLUSH
    return 0.0


def _named(patterns: int, heads: int) -> float:
    return (2 * patterns + heads) / 3


def ideal_bits(edges: Iterable[Edge], wants: Mapping[str, int]) -> dict[tuple[str, str], int]:
    """By broker and neighbour: what is wanted behind that neighbour. ``ideal_tables`` as bits; of forests too."""
    neighbours = adjacency(edges)
    told: dict[tuple[str, str], int] = {}
    visited: set[str] = set()
    for root in neighbours:
        if root not in visited:
            links = _outwards(neighbours, root)
            visited.update(other for _, other in links)
            for one, other in links[::-1]:
                told[one, other] = _behind(one, other, neighbours, wants, told)
            for one, other in links:
                told[other, one] = _behind(other, one, neighbours, wants, told)
    return told


def _behind(
    one: str,
    other: str,
    neighbours: Mapping[str, Sequence[str]],
    wants: Mapping[str, int],
    told: Mapping[tuple[str, str], int],
) -> int:
    """What ``other`` wants, and whoever lies behind it as seen from ``one``."""
    bits = wants.get(other, 0)
    for far in neighbours[other]:
        if far != one:
            bits |= told[other, far]
    return bits


def _outwards(neighbours: Mapping[str, Sequence[str]], start: str) -> list[tuple[str, str]]:
    """All links away from ``start``, the nearest first."""
    links: list[tuple[str, str]] = []
    frontier = [(start, "")]
    for name, came_from in frontier:
        for other in neighbours[name]:
            if other != came_from:
                links.append((name, other))
                frontier.append((other, name))
    return links


def lower_bound(edges: Sequence[Edge], wants: Mapping[str, int], replacement: Replacement) -> float:
    """The least weight that any algorithm has to send which names the patterns that it speaks of.

    A broker whose table has to change for a pattern must have heard of that pattern. Only the two ends of the old link
    may find out by themselves, since they know what it was used for. All others on the path need at least one message
    each, which names all these patterns; brokers off the path need none, for their tables do not change.
    """
    before, after = ideal_bits(edges, wants), ideal_bits(replaced(edges, replacement), wants)
    weight = 0.0
    for name in replacement.path[1:-1]:
        changed = 0
        for hop in [hop for hop in before | after if hop[0] == name]:
            changed |= before.get(hop, 0) ^ after.get(hop, 0)
        if changed:
            weight += _named(changed.bit_count(), 1)
    return weight
