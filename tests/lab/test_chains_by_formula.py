"""The closed formulas hold for real peers: chains of small communities, whatever their sizes and parameters."""

from __future__ import annotations

from functools import cache
from math import log, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.community.formulas import (
    Level,
    fan_out,
    latency,
    messages,
    reliability_as_sent,
    reliability_inside,
    upward_messages,
    whole_inside,
)
from reknit.lab.communities import Chain, Spread, disseminate

EVENTS = 60
ERRORS = 4.5
"""Standard errors that chance is allowed."""

chains = st.builds(
    Chain,
    sizes=st.tuples(st.integers(12, 20), st.integers(20, 30), st.integers(30, 50)),
    c=st.floats(1.0, 3.5),
    g=st.floats(2.0, 8.0),
    a=st.floats(0.7, 2.0),
    z=st.integers(2, 4),
    p_succ=st.floats(0.75, 1.0),
)


def levels(chain: Chain) -> list[Level]:
    return [Level(size, chain.c, chain.g, chain.a, chain.z, chain.p_succ) for size in chain.sizes]


@cache
def events_of(chain: Chain) -> tuple[Spread, ...]:
    return tuple(disseminate(chain, f"{number}") for number in range(EVENTS))


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def within(values: list[float], expected: float, slack: float) -> bool:
    """``slack``: what a community of a few differs from a formula for many."""
    middle = mean(values)
    error = sqrt(sum((each - middle) ** 2 for each in values) / len(values) / (len(values) - 1))
    return abs(middle - expected) <= ERRORS * error + slack


@settings(max_examples=5, deadline=None)
@given(chains)
def test_messages_are_those_of_equation_1(chain: Chain) -> None:
    """Of events that reach all: each sends the floor of ``ln N + c``, so at most one message less than it says."""
    whole = [each for each in events_of(chain) if each.reached == each.members]
    if len(whole) < EVENTS / 4:
        return
    inside = [float(sum(each.inside)) for each in whole]
    upward = sum(map(upward_messages, levels(chain)[1:]))
    least = sum(size * min(fan_out(size, chain.c), size - 1) for size in chain.sizes)
    assert set(inside) == {least}
    assert least <= messages(levels(chain)) - upward <= least + sum(chain.sizes)


@settings(max_examples=5, deadline=None)
@given(chains)
def test_upward_go_as_many_as_the_formula_says(chain: Chain) -> None:
    """From the lowest community, where the event is; sent, and not only received."""
    lowest = levels(chain)[-1]
    sent = [float(each.upward[-1]) for each in events_of(chain) if each.reached[-1] == each.members[-1]]
    if len(sent) >= EVENTS / 4:
        assert within(sent, upward_messages(lowest) / lowest.p_succ, slack=0.1)


@settings(max_examples=6, deadline=None)
@given(chains)
def test_all_of_each_level_are_reached_as_often_as_the_formula_says(chain: Chain) -> None:
    for at in range(len(chain.sizes)):
        expected = reliability_as_sent(levels(chain), at)
        share = mean([float(each.reached[at] == each.members[at]) for each in events_of(chain)])
        chance = ERRORS * sqrt(max(expected * (1.0 - expected), 1.0 / EVENTS) / EVENTS)
        assert share == pytest.approx(expected, abs=chance + 0.06)


@settings(max_examples=6, deadline=None)
@given(chains)
def test_rounds_lie_between_the_best_case_and_the_worst(chain: Chain) -> None:
    """Of events that reach the root; the formula leaves out a constant, which is a round for each level."""
    found = [float(each.rounds) for each in events_of(chain) if each.reached[0]]
    if len(found) >= EVENTS / 4:
        best, worst = (latency(levels(chain), 0, case) for case in ("best", "worst"))
        assert best - 1.0 <= mean(found) <= worst + len(chain.sizes)


@given(st.integers(200, 5000), st.floats(0.0, 5.0))
def test_of_many_all_are_reached_as_the_theory_says(population: int, c: float) -> None:
    assert whole_inside(population, log(population) + c) == pytest.approx(reliability_inside(c), abs=0.08)
