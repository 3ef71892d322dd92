"""The trees that topics should have on a ring: computed from all ids and all wishes at once.

The plain computation that brokers are held to (``reknit verify-routes``, and the checkers of the simulator).
Must not know: how brokers get there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TypeAlias

from reknit.model.ring import BITS, next_hop, ring_id
from reknit.planning.ring import Ring

__all__ = ["Branches", "ideal_trees", "way_up"]

Branches: TypeAlias = dict[str, set[tuple[str, str]]]
"""For each broker whom it sends events on to, and of which topics: (next hop, topic)."""


def _seated(ids: Mapping[str, int], bits: int) -> tuple[Ring, list[str]]:
    return Ring(list(ids.values()), bits), sorted(ids, key=lambda name: ids[name])


def ideal_trees(ids: Mapping[str, int], wants: Mapping[str, Iterable[str]], bits: int = BITS) -> Branches:
    """``ids``: where each broker is. ``wants``: the topics that its clients want."""
    ring, names = _seated(ids, bits)
    found: Branches = {name: set() for name in ids}
    for place, name in enumerate(names):
        for topic in wants.get(name, ()):
            way = ring.route(ring.owner(ring_id(topic, bits)), place)
            for one, other in pairwise(way):
                found[names[one]].add((names[other], topic))
    return found


def way_up(ids: Mapping[str, int], start: str, topic: str, bits: int = BITS) -> list[str]:
    """From a broker to the topic's root, with both ends."""
    ring, names = _seated(ids, bits)
    key = ring_id(topic, bits)
    way, root = [names.index(start)], ring.owner(key)
    while way[-1] != root:
        known = [ring.ids[other] for other in ring.fingers[way[-1]]]
        way.append(ring.owner(next_hop(ring.ids[way[-1]], known[0], known, key, bits)))
    return [names[place] for place in way]
