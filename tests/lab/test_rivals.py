"""What CAMCAST is compared with: each behaves as its theory says, and as what sets it apart from the others."""

from __future__ import annotations

from math import ceil, log

import pytest

from reknit.community.formulas import fan_out, hierarchical_reliability
from reknit.lab.communities import Chain
from reknit.lab.rivals import hierarchical, multicast, pmcast

SIZES = (10, 40, 160)
SURE = Chain(SIZES, p_succ=1.0)
ROOT = Chain(SIZES, p_succ=0.85, at=0)


def test_multicast_reaches_who_wants_it_and_nobody_else() -> None:
    found = multicast(SURE, "1")
    assert (found.wanted, found.reached, found.parasites) == (210, 210, 0)
    inside = [size * fan_out(size, 5.0) for size in SIZES]
    assert sum(inside) - 20 <= found.messages <= sum(inside) + 20  # but for tables that hold all, and for the publisher
    assert found.memory == sum(fan_out(size, 5.0) for size in SIZES)
    assert multicast(ROOT, "1").wanted == 10


def test_hierarchical_broadcast_reaches_everybody_wanted_or_not() -> None:
    found = hierarchical(Chain(SIZES, p_succ=1.0, at=0), "1")
    assert (found.wanted, found.reached) == (10, 10)
    assert found.parasites > 100 * fan_out(50, 5.0)


def test_hierarchical_broadcast_is_as_reliable_as_its_theory() -> None:
    """Of 210 in clusters of about 53, with c1 = 1 and c2 = 1: four standard errors, and 0.1 as clusters are few."""
    chain = Chain(SIZES, c=1.0, p_succ=1.0)
    runs = [hierarchical(chain, str(seed), cluster=53, c2=1.0) for seed in range(80)]
    whole = sum(found.reached == found.wanted for found in runs) / len(runs)
    lost_to_flooring = log(53) + 1.0 - fan_out(53, 1.0)
    expected = hierarchical_reliability(4, 1.0 - lost_to_flooring, 1.0)
    assert whole == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 80) ** 0.5 + 0.1)


def test_pmcast_has_fewer_parasites_than_a_broadcast_and_they_are_delegates() -> None:
    runs = [pmcast(ROOT, str(seed)) for seed in range(10)]
    flood = [hierarchical(ROOT, str(seed)) for seed in range(10)]
    assert all(found.wanted == 10 for found in runs)
    assert 0 < sum(found.parasites for found in runs) < 0.5 * sum(found.parasites for found in flood)
    assert sum(found.reached for found in runs) > 0.95 * 100  # though hardly one of twenty wants it
    assert pmcast(Chain((30,), p_succ=1.0), "1").parasites == 0
    assert runs[0].memory == 3 * ceil(210 ** (1 / 3)) * 2 + ceil(210 ** (1 / 3))


def test_who_is_a_delegate_does_not_depend_on_what_it_wants() -> None:
    """Where one in a hundred wants it, hardly any delegate does, so most of what delegates get is unwanted."""
    runs = [pmcast(Chain((10, 100, 1000), at=0), str(seed)) for seed in range(10)]
    assert sum(found.parasites for found in runs) > sum(found.wanted for found in runs) * 10


@pytest.mark.parametrize("rival", [multicast, hierarchical, pmcast])
def test_the_same_seed_gives_the_same_run(rival: object) -> None:
    assert callable(rival)
    assert rival(ROOT, "7") == rival(ROOT, "7")
