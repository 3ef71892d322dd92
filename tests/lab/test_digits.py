"""Routing digit by digit."""

from __future__ import annotations

import numpy as np

from reknit.lab.digits import Digits, quarters, random_ids


def common(one: list[int], other: list[int]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), len(one))


def test_each_hop_has_a_digit_more_in_common_with_the_goal() -> None:
    rng = np.random.default_rng(3)
    ids = random_ids(60, 4, rng)
    network = Digits(ids, 4, rng)
    for here in range(60):
        for goal in range(60):
            if here != goal:
                hop = int(network.next_hop[here, goal])
                assert common(ids[hop].tolist(), ids[goal].tolist()) > common(ids[here].tolist(), ids[goal].tolist())


def test_the_owner_of_a_key_does_not_depend_on_where_one_begins() -> None:
    """Surrogate routing, played from every node with what its own table would have: all end at one."""
    rng = np.random.default_rng(4)
    ids = random_ids(40, 4, rng)
    network = Digits(ids, 4, rng)
    for key in rng.integers(4, size=(20, ids.shape[1])).tolist():
        ends = set()
        for start in range(40):
            here, level = start, 0
            while level < len(key):
                prefix = ids[here][:level].tolist()
                there = [n for n in range(40) if ids[n][:level].tolist() == prefix]
                wanted = [(key[level] + step) % 4 for step in range(4)]
                digit = next(each for each in wanted if any(ids[n][level] == each for n in there))
                if ids[here][level] != digit:
                    here = int(network.next_hop[here, next(n for n in there if ids[n][level] == digit)])
                level += 1
            ends.add(here)
        assert ends == {network.owner(tuple(key))}


def test_the_nearest_candidate_is_taken_where_distances_are_known() -> None:
    rng = np.random.default_rng(5)
    ids, trips = random_ids(50, 4, rng), rng.random((50, 50))
    near, any_ = Digits(ids, 4, rng, trips), Digits(ids, 4, rng)

    def first(network: Digits) -> float:
        return sum(trips[one, network.next_hop[one, other]] for one in range(50) for other in range(50))

    assert first(near) < 0.5 * first(any_)


def test_ways_lead_from_the_root_down_and_back() -> None:
    rng = np.random.default_rng(6)
    network = Digits(random_ids(30, 16, rng), 16, rng)
    ways = network.ways(np.array([3, 7, 3], np.int32))
    for row, root in enumerate((3, 7, 3)):
        for goal in range(30):
            way = [root]
            while way[-1] != goal:
                way.append(int(network.next_hop[way[-1], goal]))
            assert ways.down.hops[row, goal] == len(way) - 1
            assert ways.down.nearer[row, goal] == way[max(len(way) - 2, 0)]
            assert ways.up.nearer[row, goal] == (network.next_hop[goal, root])


def test_quarters_of_quarters() -> None:
    """Row 1, column 2 of four by four: the upper right quarter, and of it the lower left one."""
    digits = quarters(2)
    assert digits.shape == (16, 2)
    assert digits[1 * 4 + 2].tolist() == [1, 2]
    assert len({tuple(each) for each in digits.tolist()}) == 16
