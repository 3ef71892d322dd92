"""One event in a chain of communities."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reknit.community.formulas import Level, fan_out, reception, vouching
from reknit.lab.communities import Chain, broadcast, disseminate

SMALL = Chain(sizes=(5, 20, 80))


def test_without_loss_and_with_all_going_up_everybody_is_reached() -> None:
    spread = disseminate(Chain(sizes=(5, 20, 80), g=80.0, a=3.0, p_succ=1.0), "1")
    assert spread.reached == spread.members == [5, 20, 80]
    assert spread.parasites == 0


def test_each_one_that_is_reached_sends_its_fan_out_once() -> None:
    spread = disseminate(Chain(sizes=(5, 20, 80), g=80.0, a=3.0, p_succ=1.0), "1")
    assert spread.inside[2] == 80 * fan_out(80, 5.0)
    assert spread.inside[1] == 20 * fan_out(20, 5.0)
    assert spread.inside[0] == 5 * 4  # all others there are


def test_upward_messages_are_as_many_as_g_and_a_say() -> None:
    upward = [disseminate(SMALL, str(seed)).upward[2] for seed in range(20)]
    assert sum(upward) / 20 == pytest.approx(5.0, abs=1.9)


def test_the_same_seed_gives_the_same_spread() -> None:
    assert disseminate(SMALL, "7") == disseminate(SMALL, "7")


def test_the_failed_are_not_members_and_what_is_sent_to_them_is_lost() -> None:
    spread = disseminate(Chain(sizes=(5, 20, 80), failed=0.5), "1")
    assert spread.members == [3, 10, 40]
    assert all(reached <= members for reached, members in zip(spread.reached, spread.members, strict=True))


def test_weakly_consistent_nobody_has_failed_and_more_are_reached_than_with_the_dead() -> None:
    weak = [disseminate(Chain(sizes=(5, 20, 80), failed=0.6, weak=True), str(seed)) for seed in range(5)]
    dead = [disseminate(Chain(sizes=(5, 20, 80), failed=0.6), str(seed)) for seed in range(5)]
    assert weak[0].members == [5, 20, 80]
    assert _mean_share(weak, 1) > _mean_share(dead, 1)


def _mean_share(spreads: list[object], level: int) -> float:
    shares = [each.reached[level] / each.members[level] for each in spreads]  # type: ignore[attr-defined]
    return sum(shares) / len(shares)


def test_reception_is_what_the_corrected_formula_says() -> None:
    """Over 25 events, at the root of three levels: within four standard errors."""
    spreads = [disseminate(SMALL, str(seed)) for seed in range(25)]
    levels = [Level(size, p_succ=0.85) for size in (5, 20, 80)]
    expected = reception(levels, 0)
    assert _mean_share(spreads, 0) == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 25) ** 0.5)


def test_plain_gossip_reaches_all_whether_they_want_it_or_not() -> None:
    """Published at the root, which alone wants it: the rest is parasites, as many as the formula says."""
    spread = broadcast(Chain(sizes=(5, 20, 80), at=0), "1")
    assert sum(spread.reached) >= 103
    assert spread.parasites == pytest.approx(100 * fan_out(105, 5.0) * 0.85, rel=0.06)


def test_what_is_vouched_for_rises_as_often_as_the_formula_says() -> None:
    """Nobody is drawn to pass it upward; of those above that the publisher knows, three of ten have crashed."""
    chain = Chain(sizes=(40, 10), g=0.0, failed=0.3, vouch_tries=2)
    spreads = [disseminate(chain, f"{number}") for number in range(200)]
    share = sum(spread.reached[0] > 0 for spread in spreads) / len(spreads)
    assert share == pytest.approx(vouching(Level(10, p_succ=0.85), 0.7, 2), abs=0.04)
    assert 1.0 < sum(spread.between[1] for spread in spreads) / len(spreads) < 4.0
    assert disseminate(replace(chain, vouch_tries=0), "1").reached[0] == 0
