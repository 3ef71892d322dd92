from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.planning.ring import NoRing, Ring, Routes

BITS = 8
rings = st.sets(st.integers(0, (1 << BITS) - 1), min_size=1, max_size=24).map(lambda ids: Ring(sorted(ids), BITS))


@given(rings)
def test_fingers_are_the_owners_of_keys_at_twice_the_distance_each_time(ring: Ring) -> None:
    for place, node in enumerate(ring.ids):
        owners = {ring.owner((node + 2**power) % (1 << BITS)) for power in range(BITS)}
        assert set(ring.fingers[place]) == owners - {place}
        ahead = [(finger - place) % len(ring) for finger in ring.fingers[place]]
        assert ahead == sorted(ahead)
        assert not ahead or ahead[0] == 1  # the successor


@given(rings, st.data())
def test_the_trees_of_all_routes_are_the_routes_walked_one_by_one(ring: Ring, data: st.DataObject) -> None:
    places = list(range(len(ring)))
    roots = data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=4, unique=True))
    routes = Routes.on(ring, roots)
    for row, root in enumerate(roots):
        ways = {place: ring.route(root, place) for place in places}
        for place, way in ways.items():
            assert routes.depths[row, place] == len(way) - 1
            assert routes.parents[row, place] == (way[-2] if len(way) > 1 else root)
            behind = {other for other in places if place in ways[other]}
            begin, end = (place - root) % len(ring), int(routes.ends[row, place])
            assert behind == {(root + offset) % len(ring) for offset in range(begin, end)}


def test_two_places_with_one_id_are_refused() -> None:
    with pytest.raises(NoRing, match="two places have the ring id 7"):
        Ring([7, 3, 7], BITS)


def test_ids_beyond_the_ring_are_refused() -> None:
    with pytest.raises(NoRing, match="from 0 to 255"):
        Ring([3, 256], BITS)
    with pytest.raises(NoRing, match="at least one place"):
        Ring([], BITS)
