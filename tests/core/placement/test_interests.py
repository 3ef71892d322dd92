"""What brokers of a cluster know of each other, and what a broker is worth to a client."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from reknit.core.placement.interests import CLUSTERS_MAX, Interests, cluster_of
from reknit.core.placement.options import PlacementOptions
from reknit.core.turn import Turn
from reknit.model.similarity import SIMILARITIES
from reknit.planning import placement as planned
from reknit.wire.placement import INTEREST_TOPICS_MAX, Interest
from tests.core.ring.circles import Ring

_NOWHERE: Any = None
"""Nothing is said on the way to utilities."""


def _ring(count: int, **options: object) -> Ring:
    """Brokers that tell each other what is wanted."""
    ring = Ring()
    placing = PlacementOptions(update_s=1.0, stay_s=1000.0, settle_s=0.0, **options)  # type: ignore[arg-type]
    ring.options = replace(ring.options, placement=placing)
    for number in range(1, count + 1):
        ring.come(f"b{number}", *(["b1"] if number > 1 else []))
    ring.run(15.0)
    return ring


def test_all_of_a_cluster_know_what_the_others_have() -> None:
    ring = _ring(4)
    ring.wants("b1", "c", "t", "u")
    ring.wants("b3", "d", "t")
    ring.run(3.0)
    loads = {"b1": 2, "b2": 0, "b3": 1, "b4": 0}
    for name in loads:
        others = {each: load for each, load in loads.items() if each != name}
        shown = ring.broker(name).placement.interests.shown()
        assert {each: told["subscriptions"] for each, told in shown.items()} == others


def test_who_is_lost_is_not_reckoned_with() -> None:
    ring = _ring(3)
    ring.lose("b2")
    ring.run(8.0)
    assert list(ring.broker("b1").placement.interests.shown()) == ["b3"]


def test_one_that_keeps_others_together_without_taking_part_forgets_nobody() -> None:
    """Each says itself for how long its word counts."""
    ring = _ring(3)
    keeper = next(name for name in ring.nodes if ring.broker(name).placement.interests._kept)
    kept = ring.broker(keeper).placement.interests
    kept.options = replace(kept.options, update_s=0.0)
    ring.run(20.0)
    others = [name for name in ring.nodes if name != keeper]
    for name in others:
        assert list(ring.broker(name).placement.interests.shown()) == [each for each in others if each != name]


def test_clusters_that_nobody_speaks_of_are_not_kept_and_there_are_not_too_many() -> None:
    broker = _ring(1).broker("b1")
    interests, (number, _, at) = broker.placement.interests, broker.ring.me
    for cluster in range(CLUSTERS_MAX + 5):
        interests.receive(Interest(str(cluster), (number, "b9", at), [], 0, 3.0))
    assert (len(interests._kept), interests.dropped) == (CLUSTERS_MAX, 5)
    broker.turn.now += 4.0
    interests.receive(Interest("new", (number, "b9", at), [], 0, 3.0))
    assert list(interests._kept) == ["new"]


def test_a_broker_with_too_many_topics_is_seen_to_say_nothing() -> None:
    ring = _ring(2)
    ring.wants("b1", "c", *(f"t{number}" for number in range(INTEREST_TOPICS_MAX + 1)))
    ring.run(15.0)
    assert ring.broker("b1").placement.shown()["dropped"] > 0


def test_clusters_know_nothing_of_each_other() -> None:
    ring = _ring(6, clusters=2)
    clusters = {name: cluster_of(name, PlacementOptions(clusters=2)) for name in ring.nodes}
    assert len(set(clusters.values())) == 2
    for name, cluster in clusters.items():
        others = [each for each, its in clusters.items() if its == cluster and each != name]
        assert list(ring.broker(name).placement.interests.shown()) == others


def test_the_key_goes_on_when_its_owner_dies() -> None:
    ring = _ring(4)
    keeper = next(name for name in ring.nodes if ring.broker(name).placement.interests._kept)
    ring.lose(keeper)
    ring.run(12.0)
    left = [name for name in ring.nodes if name != keeper]
    ring.wants(left[0], "c", "t")
    ring.run(4.0)
    assert ring.broker(left[1]).placement.interests.shown()[left[0]]["subscriptions"] == 1


def test_utility_is_similarity_less_weighted_load() -> None:
    ring = _ring(2, load_weight=2.0)
    ring.wants("b2", "d", "t", "u", "v")
    ring.wants("b1", "c", "t", "x")
    ring.wants("b1", "e", "y")
    ring.run(15.0)
    choice = ring.broker("b1").placement.interests.best_for(("t", "x"), 0, 2)
    assert choice is not None
    assert choice.interest.of[1] == "b2"
    assert choice.gain == pytest.approx((1 / 2 - 2 * 3 / 4) - (0 - 2 * 1 / 4))


def test_where_clients_were_sent_counts_before_it_is_said() -> None:
    ring = _ring(2, load_weight=1.0)
    interests = ring.broker("b1").placement.interests
    interests.sent("b2", ("t", "u"), 2)
    choice = interests.best_for(("t",), 0, 1)
    assert choice is not None
    assert choice.gain == pytest.approx(1.0 - 1.0)  # it has the topic, and all subscriptions


_TOPICS = 8
_wants = st.frozensets(st.integers(0, _TOPICS - 1))


@given(
    st.lists(st.lists(_wants, max_size=3), min_size=2, max_size=4),
    _wants.filter(bool),
    st.sampled_from(sorted(SIMILARITIES)),
    st.sampled_from((0.0, 0.5, 5.0)),
)
def test_a_client_is_sent_where_the_planner_would_have_it(
    users: list[list[frozenset[int]]], wants: frozenset[int], similarity: str, weight: float
) -> None:
    """``users``: by broker, what each of its users wants. A new one comes to the first broker."""
    planner = planned.Placement(len(users), _TOPICS, options=planned.PlacementOptions(weight, similarity))
    for number, (broker, topics) in enumerate((each, its) for each, all_ in enumerate(users) for its in all_):
        planner.place(number, sorted(topics), broker)
    planner.exchange()
    _, worth = planner.utilities(99, sorted(wants), 0)

    own, others = Counter(chain.from_iterable(users[0])), users[1:]
    turn = Turn("b0", observing=False)
    options = PlacementOptions(update_s=1.0, similarity=similarity, load_weight=weight, cluster="k")
    interests = Interests(turn, _NOWHERE, options, lambda: (list(map(str, own)), own.total() + len(wants)))
    for number, its in enumerate(others, 1):
        topics = sorted(map(str, frozenset().union(*its)))
        interests.receive(Interest("k", (number, f"b{number}", ""), topics, sum(map(len, its)), 3.0, told=True))
    choice = interests.best_for(list(map(str, wants)), len(wants & own.keys()), len(wants))
    assert choice is not None
    assert choice.gain == pytest.approx(max(worth[1:]) - worth[0])
    assert worth[choice.interest.of[0]] == pytest.approx(max(worth[1:]))


@given(st.integers(0, 20), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1))
def test_the_measures_are_the_same_for_one_broker_and_for_many(user: int, brokers: list[tuple[int, int]]) -> None:
    pairs = [(min(common, user, size), size) for common, size in brokers]
    commons, sizes = (np.array(each, dtype=np.int32) for each in zip(*pairs, strict=True))
    for measure in SIMILARITIES.values():
        found = measure(commons, user, sizes)
        assert list(found) == pytest.approx([measure(common, user, size) for common, size in pairs])
        assert all(0 <= each <= 1 for each in found)
