from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reknit.model.ring import distance, finger_keys, next_hop, owner, ring_id, within

BITS = 6
ids = st.integers(0, (1 << BITS) - 1)
rings = st.sets(ids, min_size=1, max_size=20).map(sorted)


@given(ids, ids, ids)
def test_within_is_what_a_walk_clockwise_finds(key: int, after: int, upto: int) -> None:
    passed, here = [], after
    while True:
        here = (here + 1) % (1 << BITS)
        passed.append(here)
        if here == upto:
            break
    assert within(key, after, upto, BITS) == (key in passed)


@given(rings, ids)
def test_a_key_is_owned_by_the_first_node_at_it_or_behind_it(nodes: list[int], key: int) -> None:
    here = key
    while here not in nodes:
        here = (here + 1) % (1 << BITS)
    assert owner(key, nodes, BITS) == here


@given(rings, ids, st.data())
def test_hops_over_fingers_come_to_the_owner_each_nearer_than_the_last(
    nodes: list[int], key: int, data: st.DataObject
) -> None:
    here, hops = data.draw(st.sampled_from(nodes)), 0
    goal = owner(key, nodes, BITS)
    while here != goal:
        fingers = [owner(each, nodes, BITS) for each in finger_keys(here, BITS)]
        after = next_hop(here, fingers[0], fingers, key, BITS)
        assert after == goal or distance(after, key, BITS) < distance(here, key, BITS)
        here, hops = after, hops + 1
    assert hops <= BITS + 1


def test_the_successor_is_the_last_resort() -> None:
    assert next_hop(10, 20, [20, 30, 50], 15, BITS) == 20
    assert next_hop(10, 20, [20, 30, 50], 30, BITS) == 30  # at the key itself, at once
    assert next_hop(10, 20, [20, 30, 50], 49, BITS) == 30
    assert next_hop(50, 10, [10, 20], 5, BITS) == 10


def test_names_lie_anywhere_on_the_ring_and_always_at_the_same_place() -> None:
    assert ring_id("sensors/1") == ring_id("sensors/1") < 1 << 64
    assert len({ring_id(f"b{number}") >> 60 for number in range(200)}) == 16
    assert ring_id("b1", 3) == ring_id("b1") >> 61
