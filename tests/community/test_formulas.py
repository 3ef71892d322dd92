"""The paper's section 4, corrected, beside its own numbers and beside simulation."""

from __future__ import annotations

import random
from math import exp, inf, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.community.formulas import (
    Level,
    broadcast_memory,
    broadcast_messages,
    broadcast_reliability,
    c_for_broadcast,
    c_for_hierarchical,
    c_for_multicast,
    fan_out,
    hierarchical_memory,
    hierarchical_messages,
    hierarchical_reliability,
    latency,
    memory,
    messages,
    multicast_memory,
    multicast_messages,
    multicast_reliability,
    parasites_of_broadcast,
    passing,
    passing_as_printed,
    passing_of_survivors,
    pmcast_rounds,
    pmcast_view,
    push_rounds,
    reach,
    reception,
    reliability,
    reliability_inside,
    rounds,
    upward_messages,
    vouching,
    z_within_broadcast,
    z_within_hierarchical,
    z_within_multicast,
)

PAPER = [Level(10, p_succ=0.85), Level(100, p_succ=0.85), Level(1000, p_succ=0.85)]
"""Section 6.1.1: root first."""

levels = st.builds(
    Level,
    population=st.integers(2, 80),
    g=st.floats(1, 20),
    a=st.floats(0.5, 3),
    z=st.integers(3, 6),
    p_succ=st.floats(0.3, 1.0),
)


def test_fan_outs_are_eleven_nine_and_seven() -> None:
    """Erratum 21."""
    assert [fan_out(level.population, level.c) for level in PAPER] == [7, 9, 11]


@pytest.mark.parametrize(("c", "known"), [(0.0, 0.368), (2.0, 0.873), (5.0, 0.9933)])
def test_reliability_inside_as_the_reference_has_it(c: float, known: float) -> None:
    assert reliability_inside(c) == pytest.approx(known, abs=6e-4)


@given(st.floats(1.05, 30.0))
def test_the_share_reached_solves_its_equation(f: float) -> None:
    assert reach(f) == pytest.approx(1 - exp(-reach(f) * f), abs=1e-9)
    assert 0.0 < reach(f) <= 1.0


def test_with_one_message_each_or_fewer_nothing_takes_off() -> None:
    assert reach(1.0) == reach(0.3) == 0.0


def test_equation_6_is_too_high_for_the_papers_own_values() -> None:
    """Erratum 15: 0.9999 as printed, 0.958 in truth."""
    assert passing_as_printed(PAPER[2]) == pytest.approx(0.9999, abs=1e-4)
    assert passing(PAPER[2]) == pytest.approx(0.958, abs=2e-3)


@settings(max_examples=8, deadline=None)
@given(levels, st.integers(0, 2**32))
def test_the_exact_form_is_what_happens(level: Level, seed: int) -> None:
    """800 events, each of which all members decide about; within five standard deviations."""
    rng = random.Random(seed)
    passed, tries = 0, 800
    for _ in range(tries):
        elected = sum(rng.random() < level.p_sel for _ in range(level.population))
        passed += any(rng.random() < level.p_a * level.p_succ for _ in range(elected * level.z))
    expected = passing(level)
    assert abs(passed / tries - expected) <= 5 * (expected * (1 - expected) / tries) ** 0.5 + 2e-3


@given(levels)
def test_the_printed_form_is_never_below_the_exact_one(level: Level) -> None:
    assert passing_as_printed(level) >= passing(level) - 1e-9


@settings(max_examples=5, deadline=None)
@given(st.integers(150, 300), st.floats(-1.5, 3.0), st.floats(0.6, 1.0), st.integers(0, 2**32))
def test_the_share_reached_is_what_a_simulation_reaches(population: int, c: float, p_succ: float, seed: int) -> None:
    """Infect and die, with targets by chance; runs that have taken off, on average within 4 %."""
    rng = random.Random(seed)
    shares = [_infected(population, fan_out(population, c), p_succ, rng) / population for _ in range(25)]
    expected = reach(fan_out(population, c) * p_succ)
    off = [share for share in shares if share > 0.3]
    assert sum(off) / len(off) == pytest.approx(expected, abs=0.04)


def _infected(population: int, fan: int, p_succ: float, rng: random.Random) -> int:
    seen, fresh = {0}, [0]
    while fresh:
        fresh.pop()
        hits = [peer for peer in rng.sample(range(population), fan) if rng.random() < p_succ]
        fresh += [peer for peer in hits if peer not in seen]
        seen.update(hits)
    return len(seen)


def test_messages_are_those_inside_and_those_from_all_but_the_root() -> None:
    """Erratum 17."""
    inside = sum(level.population * (log(level.population) + 5) for level in PAPER)
    assert messages(PAPER) == pytest.approx(inside + 2 * 5 * 0.85)
    assert upward_messages(PAPER[1]) == pytest.approx(5 * 0.85)
    assert messages(PAPER[:1]) == pytest.approx(10 * (log(10) + 5))


def test_the_reliability_of_a_level_does_not_count_its_own_way_up() -> None:
    """Erratum 16."""
    one = reliability_inside(5.0)
    assert reliability(PAPER, 2) == pytest.approx(one)
    assert reliability(PAPER, 1) == pytest.approx(one**2 * passing(PAPER[2]))
    assert reliability(PAPER, 0) == pytest.approx(one**3 * passing(PAPER[2]) * passing(PAPER[1]))


def test_reception_falls_from_level_to_level() -> None:
    chances = [reception(PAPER, at) for at in (2, 1, 0)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.999
    assert chances[2] == pytest.approx(0.958**2, abs=0.01)


def test_memory_does_not_depend_on_other_levels() -> None:
    assert memory(PAPER[2]) == pytest.approx(log(1000) + 5 + 3)
    assert memory(PAPER[0], is_root=True) == pytest.approx(log(10) + 5)
    assert memory(PAPER[2]) < multicast_memory(PAPER)
    assert broadcast_memory(1110, 5.0) == pytest.approx(log(1110) + 5)
    assert hierarchical_memory(10, 111, 5.0, 5.0) == pytest.approx(log(1110) + 10)


@pytest.mark.parametrize(("processes", "root", "published"), [(1110, 10, 11216), (300, 100, 1699), (500, 100, 3739)])
def test_the_parasites_of_gossip_are_those_of_table_2(processes: int, root: int, published: int) -> None:
    assert parasites_of_broadcast(processes, root, 5.0, 0.85) == pytest.approx(published, rel=0.01)


def test_messages_of_the_alternatives() -> None:
    assert broadcast_messages(1110, 5.0) == pytest.approx(1110 * (log(1110) + 5))
    assert multicast_messages(PAPER) == pytest.approx(messages(PAPER) - 8.5)
    assert hierarchical_messages(10, 111, 5.0, 5.0) == pytest.approx(1110 * (log(1110) + 10))


chances = st.floats(0.9, 0.9999)
depths = st.integers(1, 6)


@given(st.floats(0.0, 4.0), depths, chances)
def test_with_the_c_that_it_takes_it_is_as_reliable_as_a_broadcast(c: float, x: int, pit: float) -> None:
    c1 = c_for_broadcast(c, x, pit)
    assert (c1 == inf) == (c >= -log(-x * log(pit)))
    if c1 < inf:
        assert (reliability_inside(c1) * pit) ** x == pytest.approx(broadcast_reliability(c), abs=1e-9)
        z = z_within_broadcast(c, x, pit, 10_000, 100)
        assert z == pytest.approx(log(10_000) + log(1 + x * exp(c) * log(pit)) - log(100) - log(x), abs=1e-6)


@given(st.floats(0.0, 4.0), depths, chances)
def test_the_same_of_a_multicast_and_of_a_hierarchical_broadcast(c: float, x: int, pit: float) -> None:
    c1 = c_for_multicast(c, pit)
    if c1 < inf:
        alike = [Level(100, c=c)] * x
        assert (reliability_inside(c1) * pit) ** x == pytest.approx(multicast_reliability(alike), abs=1e-9)
        z = z_within_multicast(c, x, pit, 100)
        assert z == pytest.approx((x - 1) * (log(100) + c) + log(1 + exp(c) * log(pit)), abs=1e-6)
    c1 = c_for_hierarchical(c, x, pit, 10)
    if c1 < inf:
        wanted = hierarchical_reliability(10, c, c)
        assert (reliability_inside(c1) * pit) ** x == pytest.approx(wanted, abs=1e-9)
        z = z_within_hierarchical(c, x, pit, 10)
        assert z == pytest.approx(c + log(10) + log(11 + x * exp(c) * log(pit)) - log(x), abs=1e-6)


def test_latency_lies_between_its_best_and_its_worst() -> None:
    best, average, worst = (latency(PAPER, 0, case) for case in ("best", "average", "worst"))
    assert best == pytest.approx(2 + rounds(10))
    assert best <= average <= worst
    assert rounds(1000) == pytest.approx(log(1000) / log(log(1000)))


def test_pmcast_is_affine_in_the_logarithm_of_its_size() -> None:
    """Reference 5.1: about ``k (ln n + (d - 1) ln R)``."""
    k = push_rounds(exp(1), 4)
    assert pmcast_rounds(10, 3, 3, 4) == pytest.approx(k * (log(1000) + 2 * log(3)))
    assert pmcast_view(10, 3, 3) == 70


def test_what_is_vouched_for_stops_only_where_all_that_are_known_are_dead_or_never_hear_it() -> None:
    level = Level(1000, z=3, p_succ=0.85)
    assert vouching(level, 1.0, 1) == pytest.approx(1 - 0.15**3)
    assert vouching(level, 0.7, 2) == pytest.approx(1 - (1 - 0.7 * (1 - 0.15**2)) ** 3)


def test_with_a_third_of_both_ends_gone_one_event_of_six_stops_and_nothing_changes_where_all_live() -> None:
    """As docs/lab.md says of camcast-headline: ``exp(-0.34 g)``."""
    assert 1 - passing_of_survivors(PAPER[2], 0.7) == pytest.approx(exp(-0.34 * 5), abs=2e-3)
    assert passing_of_survivors(PAPER[2], 1.0) == pytest.approx(passing(PAPER[2]))
