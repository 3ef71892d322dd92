"""DYNATOPS, section 4."""

from __future__ import annotations

import random

import numpy as np
import pytest

from reknit.lab.interests import Interests
from reknit.planning.placement import Placement, PlacementOptions, by_location, clusters, static


def placed(options: PlacementOptions, users: int = 400, cluster: int = 10) -> Placement:
    rng = np.random.default_rng(1)
    placement = Placement(10, 100, clusters(10, cluster), options)
    for user, topics in enumerate(Interests("multimodal", 100, 5, 10).draw(users, rng).tolist()):
        placement.join(user, topics, int(rng.integers(10)))
        if user % 20 == 19:
            placement.exchange()
    return placement


def recounted(placement: Placement) -> np.ndarray:
    counts = np.zeros_like(placement.counts)
    for user, broker in placement.home.items():
        for topic in placement.topics[user]:
            counts[topic, broker] += 1
    return counts


def test_utility_is_similarity_less_load() -> None:
    placement = Placement(3, 10, options=PlacementOptions(load_weight=2.0))
    placement.place(1, [0, 1, 2], 0)
    placement.place(2, [3], 1)
    placement.exchange()
    visible, worth = placement.utilities(9, [0, 1, 3, 4], asked=2)
    assert visible.tolist() == [0, 1, 2]
    assert worth.tolist() == pytest.approx([2 / 4 - 2 * 3 / 4, 1 / 4 - 2 * 1 / 4, 0.0])


def test_others_are_known_as_they_were_and_oneself_as_one_is() -> None:
    placement = Placement(2, 4, options=PlacementOptions(load_weight=0.0))
    placement.place(1, [0], 0)
    assert placement.utilities(2, [0], asked=1)[1].tolist() == [0.0, 0.0]
    assert placement.utilities(2, [0], asked=0)[1].tolist() == [1.0, 0.0]
    placement.exchange()
    assert placement.utilities(2, [0], asked=1)[1].tolist() == [1.0, 0.0]


def test_only_brokers_of_the_cluster_are_looked_at() -> None:
    placement = Placement(4, 4, clusters(4, 2))
    assert placement.utilities(1, [0], asked=2)[0].tolist() == [2, 3]
    with pytest.raises(ValueError, match="at least one broker"):
        clusters(4, 0)


def test_a_user_without_topics_is_similar_to_nobody() -> None:
    placement = Placement(2, 4)
    assert placement.utilities(1, [], asked=0)[1].tolist() == [0.0, 0.0]


def test_topics_that_only_the_user_has_brought_may_be_left_out() -> None:
    for own, expected in ((True, 1.0), (False, 0.0)):
        placement = Placement(2, 4, options=PlacementOptions(load_weight=0.0, own_topics=own))
        placement.place(1, [0], 0)
        assert placement.utilities(1, [0], asked=0)[1][0] == expected


def test_nobody_flees_from_its_own_load() -> None:
    """Two users that share nothing, each alone at its broker: to move would bring nothing, so both stay."""
    placement = Placement(4, 4, options=PlacementOptions(load_weight=1.0, own_topics=False, gain_min=0.05))
    placement.place(1, [0], 0)
    placement.place(2, [1, 2], 1)
    placement.exchange()
    assert [placement.join(1, [0], 0), placement.join(2, [1, 2], 1)] == [0, 1]
    placement.place(3, [3], 1)
    placement.exchange()
    assert placement.join(3, [3], 1) == 2  # the load of others counts


@pytest.mark.parametrize("similarity", ["overlap", "jaccard", "cosine"])
def test_brokers_want_fewer_topics_than_where_users_are_placed_by_chance(similarity: str) -> None:
    placement = placed(PlacementOptions(load_weight=1.0, similarity=similarity))
    chance = Placement(10, 100)
    rng = np.random.default_rng(2)
    for (user, topics), broker in zip(placement.topics.items(), static(400, 10, rng).tolist(), strict=True):
        chance.place(user, topics, broker)
    assert placement.wants.sum() < chance.wants.sum() / 1.5
    assert placement.changes < chance.changes / 1.5


def test_load_counts_as_it_is_weighted() -> None:
    deviations = [placed(PlacementOptions(load_weight=weight)).loads.std() for weight in (0.0, 1.0, 10.0)]
    assert deviations == sorted(deviations, reverse=True)


def test_what_is_counted_is_what_counting_anew_finds() -> None:
    placement, rng = placed(PlacementOptions()), random.Random(1)
    for _ in range(300):
        user = rng.randrange(400)
        placement.join(user, rng.sample(range(100), rng.randint(0, 5)), placement.home[user])
    assert (placement.counts == recounted(placement)).all()
    assert (placement.sizes == placement.wants.sum(axis=0)).all()
    loads = np.zeros(10)
    for user, broker in placement.home.items():
        loads[broker] += len(placement.topics[user])
    assert (placement.loads == loads).all()


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="one of overlap, jaccard, cosine"):
        PlacementOptions(similarity="hamming")
    with pytest.raises(ValueError, match="weight of load"):
        PlacementOptions(load_weight=-1)
    with pytest.raises(ValueError, match="different numbers from 0 to 3"):
        Placement(2, 4).join(1, [1, 1], 0)
    with pytest.raises(ValueError, match="different numbers from 0 to 3"):
        Placement(2, 4).join(1, [4], 0)


def test_by_location_everybody_is_at_the_nearest_broker() -> None:
    users, brokers = np.array([[0.0, 0.0], [9.0, 9.0], [4.0, 6.0]]), np.array([[1.0, 1.0], [8.0, 8.0]])
    assert by_location(users, brokers).tolist() == [0, 1, 1]
