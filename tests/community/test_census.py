"""How many members there are, counted by all together."""

from __future__ import annotations

import random
from array import array

import pytest

from reknit.community.census import BEATS_MIN, EPOCHS_AHEAD_MAX, GROWTH_MAX, Census
from reknit.wire.peers import EPOCH_MAX, MINIMA


def counted(members: int, seed: int) -> float:
    rng = random.Random(seed)
    all_of_them = [Census(rng, 8) for _ in range(members)]
    for each in all_of_them[1:]:
        all_of_them[0].hear(0, each.sketch())
    return all_of_them[0].population()


@pytest.mark.parametrize("members", [1, 10, 200])
def test_the_estimate_has_no_bias_and_the_error_that_theory_says(members: int) -> None:
    """``1 / sqrt(K - 2)`` of N for one count; the mean of forty is within three standard errors."""
    counts = [counted(members, seed) for seed in range(40)]
    error = members / (MINIMA - 2) ** 0.5 / 40**0.5
    assert abs(sum(counts) / 40 - max(members, 1)) < 3 * error + (0.2 if members == 1 else 0)


def test_copies_change_nothing() -> None:
    rng = random.Random(3)
    one, other = Census(rng, 8), Census(rng, 8)
    one.hear(0, other.sketch())
    before = one.population()
    for _ in range(5):
        one.hear(0, other.sketch())
    assert one.population() == before


def test_who_has_gone_is_not_counted_in_the_epoch_after_the_next() -> None:
    rng = random.Random(4)
    one = Census(rng, BEATS_MIN)
    for _ in range(100):
        one.hear(0, Census(rng, 8).sketch())
    assert one.population() > 50
    for _ in range(BEATS_MIN):
        one.beat()
    assert one.population() > 50  # the epoch is young, so the last count is used
    for _ in range(BEATS_MIN):
        one.beat()
    assert one.population() < 5


def test_counts_of_two_epochs_are_no_higher_together_than_one() -> None:
    """The larger of two counts would be a tenth too high on average, and count twice as long who has gone."""
    error = 50 / (MINIMA - 2) ** 0.5 / 200**0.5
    counts = []
    for seed in range(200):
        rng = random.Random(seed)
        one = Census(rng, 8)
        for epoch in range(2):
            for _ in range(49):
                one.hear(epoch, Census(rng, 8).sketch())
            for _ in range(8 if epoch == 0 else 6):
                one.beat()
        counts.append(one.population())
    assert abs(sum(counts) / 200 - 50) < 3 * error


def test_a_later_epoch_is_gone_over_to_and_an_earlier_one_is_not_heard() -> None:
    rng = random.Random(5)
    one, other = Census(rng, 8), Census(rng, 8)
    other.hear(7, other.sketch())
    one.hear(other.epoch, other.sketch())
    assert one.epoch == 7
    before = one.sketch()
    one.hear(6, array("f", [1e-6] * MINIMA).tobytes())
    assert one.sketch() == before


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_numbers_that_nobody_could_have_drawn_are_not_taken(value: float) -> None:
    census = Census(random.Random(6), 8)
    before = census.sketch()
    assert not census.hear(1, array("f", [0.5] * (MINIMA - 1) + [value]).tobytes())
    assert (census.sketch(), census.epoch) == (before, 0)


def test_an_epoch_too_far_ahead_is_none() -> None:
    """Else one word would end all counting: there is no epoch after the last."""
    census = Census(random.Random(7), 8)
    before = census.sketch()
    for epoch in (EPOCH_MAX, EPOCHS_AHEAD_MAX + 1):
        assert not census.hear(epoch, array("f", [0.5] * MINIMA).tobytes())
    assert (census.sketch(), census.epoch) == (before, 0)
    assert census.hear(EPOCHS_AHEAD_MAX, array("f", [0.5] * MINIMA).tobytes())
    assert census.epoch == EPOCHS_AHEAD_MAX


def test_no_community_has_more_members_than_there_can_be() -> None:
    census = Census(random.Random(8), 8)
    assert not census.hear(0, array("f", [1e-9] * MINIMA).tobytes())
    assert census.population() < 3


def test_who_is_not_believed_changes_nothing() -> None:
    census = Census(random.Random(9), 8)
    before = census.sketch()
    assert census.hear(3, array("f", [0.1] * MINIMA).tobytes(), believed=False)
    assert (census.sketch(), census.epoch) == (before, 0)


def test_a_count_that_was_forged_is_bounded_by_the_last_one_and_forgotten() -> None:
    rng = random.Random(10)
    one = Census(rng, 8)
    others = [Census(rng, 8) for _ in range(19)]

    def an_epoch(number: int) -> None:
        for each in others:
            each._begin(number)
            one.hear(number, each.sketch())
        for _ in range(7):
            one.beat()

    an_epoch(0)
    before = one.population()
    one.beat()
    assert one.hear(1, array("f", [1e-5] * MINIMA).tobytes())
    an_epoch(1)
    assert one.population() == pytest.approx(GROWTH_MAX * before)
    one.beat()
    an_epoch(2)
    assert one.population() < 2 * before


def test_a_community_that_has_grown_a_thousandfold_is_counted_after_a_few_epochs() -> None:
    one = Census(random.Random(11), 8)
    many = array("f", [0.001] * MINIMA).tobytes()
    for _ in range(8):
        one.beat()
    for epoch in range(1, 6):
        one.hear(epoch, many)
        for _ in range(8):
            one.beat()
    assert one.population() > 900
