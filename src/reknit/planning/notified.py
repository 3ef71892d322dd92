"""What notifying has cost on a ring, counted from the ways that events took: what a plan of the ring is measured by.

Owns: the count. Must not know: where it is known from how events went, or what was planned.

It is the cost of Eq. 5, of events that were seen instead of events that are expected: a message to a broker that no
client of wants the topic costs one, and each hop from the root to one that has such clients costs the weight of delay.
The way from a publisher to the root is left out, as in the paper. It is the one that keys have on the ring; whatever
else an event has crossed is its tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from reknit.model.ring import next_hop, ring_id
from reknit.planning.ring import Ring

__all__ = ["Journey", "Notified", "notified"]


@dataclass(slots=True)
class Journey:
    """One event: where it was published, from which broker to which it went, and where clients got it."""

    topic: str
    start: str
    hops: list[tuple[str, str]] = field(default_factory=list)
    delivered: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Notified:
    events: int
    cost: float


def notified(ids: Mapping[str, int], journeys: Iterable[Journey], delay_weight: float) -> Notified:
    """A broker that any event of a topic was delivered at wants the topic: its selectors may not want each of them."""
    ring, seen = Ring(list(ids.values())), list(journeys)
    names = {ring.ids.index(number): name for name, number in ids.items()}
    wanting: dict[str, dict[str, None]] = {}
    for journey in seen:
        wanting.setdefault(journey.topic, {}).update(dict.fromkeys(journey.delivered))
    cost = sum(_cost(ring, names, journey, wanting[journey.topic], delay_weight) for journey in seen)
    return Notified(len(seen), cost)


def _cost(ring: Ring, names: Mapping[int, str], journey: Journey, wanting: Mapping[str, None], weight: float) -> float:
    key = ring_id(journey.topic)
    places = {name: place for place, name in names.items()}
    if journey.start not in places:
        return 0.0
    up = [names[place] for place in _way_up(ring, places[journey.start], key)]
    left = Counter(journey.hops)
    left.subtract(Counter(pairwise(up)))
    depths = _depths(up[-1], [hop for hop, count in left.items() if count > 0])
    relays = sum(name not in wanting for name in depths) - (up[-1] not in wanting)
    return relays + weight * sum(depth for name, depth in depths.items() if name in wanting)


def _way_up(ring: Ring, start: int, key: int) -> list[int]:
    """To the root of the key, as brokers go it."""
    way, root = [start], ring.owner(key)
    while (here := way[-1]) != root:
        known = [ring.ids[other] for other in ring.fingers[here]]
        way.append(ring.owner(next_hop(ring.ids[here], known[0], known, key, ring.bits)))
    return way


def _depths(root: str, hops: list[tuple[str, str]]) -> dict[str, int]:
    """By broker that is reached from the root, over how many links."""
    found, todo = {root: 0}, [root]
    for here in todo:
        for start, end in hops:
            if start == here and end not in found:
                found[end] = found[here] + 1
                todo.append(end)
    return found
