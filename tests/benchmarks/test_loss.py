"""The rows of recovery under loss: what they make of what was counted."""

from __future__ import annotations

import pytest

from bench.loss import _Heard, _rows

SPENT = {"gossip": 3, "requests": 10, "repairs": 5, "recovered": 12, "heartbeats": 7, "datagrams_lost": 41}


@pytest.mark.parametrize(
    ("spent", "verdict", "cost"),
    [
        ({}, "ok", "1.50 for each of 12 that came back; 7 heartbeats; 41 datagrams were lost"),
        ({"recovered": 6}, "below", "3.00 for each of 6 that came back; 7 heartbeats; 41 datagrams were lost"),
        ({"recovered": 0}, "below", "inf for each of 0 that came back; 7 heartbeats; 41 datagrams were lost"),
        (dict.fromkeys(SPENT, 0), "below", "inf for each of 0 that came back; 0 heartbeats; 0 datagrams were lost"),
    ],
)
def test_a_price_is_met_only_if_something_has_come_back(spent: dict[str, int], verdict: str, cost: str) -> None:
    delivered, once, messages = _rows(0.1, _Heard(owed=1000, in_time=1000), SPENT | spent)
    assert (delivered.verdict, once.verdict) == ("ok", "ok")
    assert (messages.verdict, messages.note) == (verdict, cost)
