"""The shape of an algorithm: a round is about a few patterns, drawn among those that it is chosen for."""

from __future__ import annotations

from reknit.core.recovery.strategy import Strategy
from tests.core.recovery.round_table import RoundTable


class _Idle(Strategy):
    name = "idle"

    def is_wanted(self) -> bool:
        return False

    def begin_round(self) -> None:
        raise AssertionError


def test_a_round_is_about_a_few_patterns_that_concern_it() -> None:
    talk = RoundTable("push", patterns_per_round=3).recovery.talk
    idle = _Idle(talk, lambda signature: signature % 2 == 0)
    drawn = [idle._draw(list(range(20))) for _ in range(50)]
    assert all(len(set(each)) == 3 for each in drawn)
    assert {signature for each in drawn for signature in each} == set(range(0, 20, 2))
    assert idle._draw([1, 2, 3]) == [2]
    assert idle._draw([1]) == []
