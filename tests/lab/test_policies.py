"""Where users are managed."""

from __future__ import annotations

import numpy as np

from reknit.lab.demand import Change
from reknit.lab.policies import ByInterest, Following, along_curve, settle
from reknit.planning.placement import Placement, PlacementOptions, clusters


def test_who_follows_is_where_it_is_said_to_be() -> None:
    at = {0: 1}
    policy = Following(3, 5, at.__getitem__)
    settle(policy, [Change(0, (2,))])
    at[0] = 2
    policy.put(Change(0, (2, 4)))
    assert policy.placement.home == {0: 2}
    assert policy.placement.handovers == 1
    assert policy.step(10.0) == 0


def by_interest(bound: bool, entry: dict[int, int]) -> ByInterest:
    placement = Placement(6, 5, clusters(6, 3), PlacementOptions(0.0))
    return ByInterest(placement, entry.__getitem__, 2.0, bound)


def test_users_with_the_same_interests_come_together() -> None:
    policy = by_interest(False, {0: 1, 1: 2, 2: 4})
    settle(policy, [Change(0, (3,)), Change(1, (3,)), Change(2, (3,))])
    assert policy.placement.home[0] == policy.placement.home[1]
    assert policy.placement.home[2] >= 3  # of the other cluster, which knows nothing of these


def test_whoever_leaves_the_cells_of_its_cluster_asks_where_it_is() -> None:
    for bound, cluster in ((True, 1), (False, 0)):
        entry = {0: 1}
        policy = by_interest(bound, entry)
        policy.put(Change(0, (3,)))
        entry[0] = 4
        policy.put(Change(0, (3, 1)))
        assert policy.placement.cluster_of[policy.placement.home[0]] == cluster


def test_every_broker_tells_the_others_of_its_cluster_when_it_is_time() -> None:
    policy = by_interest(False, {})
    assert policy.step(1.0) == 0
    assert policy.step(1.0) == 6 * 2
    assert policy.step(4.0) == 2 * 6 * 2


def test_cells_of_a_cluster_are_beside_each_other() -> None:
    found = along_curve(16, 16, 4)
    assert np.bincount(found).tolist() == [4] * 64
    for each in range(64):
        cells = np.flatnonzero(found == each)
        assert np.ptp(cells // 16) <= 1
        assert np.ptp(cells % 16) <= 1
    assert np.bincount(along_curve(20, 60, 10)).tolist() == [10] * 120
