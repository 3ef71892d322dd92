"""What is drawn for an event is what chance makes of it."""

from __future__ import annotations

from math import sqrt
from random import Random

import pytest

from reknit.sim.checkers.spreading import DRAWS, Drawn, Terms, _mask, draw_spread
from tests.sim.checkers.test_reception import CHAIN, LADDER, knows, member, tables

TERMS = Terms(c=5.0, g=1.0, a=1.0, z=3, p_succ=0.9)
TIMES = 300


def mean_of(*records: object, terms: Terms = TERMS, publisher: str = "p", error: float = 1.0) -> dict[str, float]:
    """Over many times all draws of an event."""
    rng, totals = Random(1), dict[str, float]()
    for _ in range(TIMES):
        drawn = draw_spread(tables(*records), LADDER, publisher, terms, rng, error)  # type: ignore[arg-type]
        for topic, each in drawn.items():
            totals[topic] = totals.get(topic, 0.0) + each.mean / TIMES
    return totals


def near(value: float) -> object:
    """Four standard errors of a number of three at most."""
    return pytest.approx(value, abs=4 * 1.5 / sqrt(TIMES * DRAWS))


def test_along_a_chain_chances_multiply() -> None:
    assert mean_of(*CHAIN) == {"a/b/#": near(1.0 + 0.9 + 0.81)}


def test_ways_that_lead_round_count() -> None:
    """From p to r over q, too, though q is no nearer to p than r is."""
    both = 1 - (1 - 0.9) * (1 - 0.9 * 0.9)
    ring = [*(member(name, "a/b/#") for name in "pqr"), knows("p", "q"), knows("p", "r"), knows("q", "r")]
    assert mean_of(*ring) == {"a/b/#": near(1.0 + 0.9 + both)}


def test_one_of_few_passes_it_upward() -> None:
    """Elected with ``g / N = 0.5``; each of the two entries is sent it with ``a / 2``."""
    up = [member("p", "a/b/#"), member("q", "a/b/#"), member("s", "a/#"), member("t", "a/#")]
    up += [knows("p", "s", "a/#", "above a/b for a"), knows("p", "t", "a/#", "above a/b for a")]
    assert mean_of(*up)["a/#"] == near(2 * 0.5 * 0.5 * 0.9)


def test_who_is_in_both_has_it_in_both_and_sends_no_message_up() -> None:
    both = [member("p", "a/b/#"), member("p", "a/#"), member("s", "a/#"), knows("p", "s", "a/#", "above a/b for a")]
    assert mean_of(*both) == {"a/b/#": near(1.0), "a/#": near(1.0)}


def test_who_only_publishes_passes_it_on_and_does_not_count() -> None:
    records = [member("p", "a/b/#"), member("q", "a/b/#", "to publish only"), member("r", "a/b/#")]
    records += [knows("p", "q"), knows("q", "r")]
    assert mean_of(*records) == {"a/b/#": near(1.0 + 0.81)}


def test_whom_nobody_knows_is_never_reached() -> None:
    lone = [*CHAIN, member("s", "a/b/#"), knows("s", "p")]
    drawn = draw_spread(tables(*lone), LADDER, "p", TERMS, Random(1))["a/b/#"]
    assert drawn.chances["s"] == 0.0
    assert drawn.chances["p"] == DRAWS / (DRAWS + 1)


def test_a_wrong_count_makes_it_less_likely_to_rise_and_to_be_sent() -> None:
    """One that is elected with ``g / (1.5 N)``."""
    up = [member("p", "a/b/#"), member("s", "a/#"), knows("p", "s", "a/#", "above a/b for a")]
    assert mean_of(*up, error=1.5)["a/#"] == near(0.9 / 1.5)
    wide = [member(f"{number}", "a/b/#") for number in range(6)] + [knows("0", f"{number}") for number in range(1, 6)]
    few = Terms(c=1.5, g=1.0, a=1.0, z=3, p_succ=1.0)  # floor(ln 6 + 1.5) = 3 of five, and two if there were four
    for error, fan in ((1.0, 3), (1.5, 2)):
        assert mean_of(*wide, terms=few, publisher="0", error=error)["a/b/#"] == near(1.0 + fan)


def test_nothing_is_drawn_for_a_publisher_that_is_no_member() -> None:
    assert draw_spread(tables(*CHAIN), LADDER, "z", TERMS, Random(1)) == {}


def test_the_variance_is_that_of_the_number() -> None:
    one = [member("p", "a/b/#"), member("q", "a/b/#"), knows("p", "q")]
    rng = Random(2)
    found = [draw_spread(tables(*one), LADDER, "p", TERMS, rng)["a/b/#"] for _ in range(100)]
    assert all(isinstance(each, Drawn) for each in found)
    assert sum(each.variance for each in found) / 100 == pytest.approx(0.9 * 0.1, rel=0.1)


@pytest.mark.parametrize("chance", [0.0, 0.25, 0.3, 0.95, 1.0])
def test_bits_are_set_by_chance(chance: float) -> None:
    rng = Random(3)
    ones = sum(_mask(chance, rng).bit_count() for _ in range(400)) / (400 * DRAWS)
    assert ones == pytest.approx(chance, abs=4 * 0.5 / sqrt(400 * DRAWS) + 0.001)
