"""One address does not take the places of all others, neither by number nor by haste."""

from __future__ import annotations

import pytest

from reknit.live import crowd as module
from reknit.live.crowd import BURST_S, Crowd
from reknit.mqtt.reasons import Reason

MANY = 1_000_000


def test_so_many_at_once_and_one_more_when_one_goes() -> None:
    crowd = Crowd(2, MANY)
    assert [crowd.came("a", 0.0) for _ in range(3)] == [None, None, Reason.QUOTA_EXCEEDED]
    assert crowd.came("b", 0.0) is None
    crowd.went("a")
    assert crowd.came("a", 0.0) is Reason.QUOTA_EXCEEDED  # the one that was refused is still there
    crowd.went("a")
    crowd.went("a")
    assert crowd.came("a", 0.0) is None


def test_so_many_in_a_second_after_a_burst() -> None:
    crowd, burst = Crowd(MANY, 10.0), int(10 * BURST_S)
    assert [crowd.came("a", 5.0) for _ in range(burst)] == [None] * burst
    assert crowd.came("a", 5.0) is Reason.CONNECTION_RATE_EXCEEDED
    assert crowd.came("b", 5.0) is None
    later = [crowd.came("a", 6.0) for _ in range(11)]
    assert later == [None] * 10 + [Reason.CONNECTION_RATE_EXCEEDED]


def test_quiet_addresses_are_forgotten_and_busy_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ADDRESSES_MAX", 3)
    crowd = Crowd(1, MANY)
    crowd.came("busy", 0.0)
    for number in range(10):
        crowd.came(f"quiet {number}", 0.0)
        crowd.went(f"quiet {number}")
    assert crowd.came("busy", 0.0) is Reason.QUOTA_EXCEEDED
    assert len(crowd._of) <= 4


def test_one_that_nobody_knows_may_go() -> None:
    Crowd(1, MANY).went("a")
