"""Algorithms by name, for the whole network or for some patterns."""

from __future__ import annotations

from typing import get_args

from reknit.core.recovery.options import RecoveryName
from reknit.core.recovery.strategies import STRATEGIES
from tests.core.recovery.round_table import PA, PB, RoundTable


def test_every_name_stands_for_one() -> None:
    assert ["none", *STRATEGIES] == list(get_args(RecoveryName))


def test_one_is_for_all_patterns() -> None:
    (only,) = RoundTable("push").recovery.strategies
    assert only.concerns(PA)
    assert only.concerns(12345)


def test_each_has_the_patterns_that_it_is_chosen_for() -> None:
    from tests.core.recovery.round_table import A, B

    table = RoundTable("push", n=(A, B), of={"b": "combined"})
    push, combined = table.recovery.strategies
    assert (push.name, combined.name) == ("push", "combined")
    assert [each.concerns(PA) for each in (push, combined)] == [True, False]
    assert [each.concerns(PB) for each in (push, combined)] == [False, True]
    assert not push.concerns(12345)
