"""What a broker learns from its questions: how long to wait, how much is lost, and how long to gather."""

from __future__ import annotations

import pytest

from reknit.core.recovery.asks import ASKS_MAX, Asks


def _asks(wait_s: float = 0.1, hold_s_max: float = 1.0) -> Asks:
    return Asks(wait_s, 0.8, hold_s_max, 1.8)


def test_it_waits_for_longer_than_answers_take_within_bounds() -> None:
    asks = _asks()
    for number in range(1, 50):
        asks.ask(number, "s", number)
        asks.answer(number, 1, number + 0.3)
    assert 0.3 < asks.wait_s < 0.4
    for number in range(50, 60):
        asks.ask(number, "s", number)
        asks.answer(number, 1, number + 5.0)
    assert asks.wait_s == 0.8
    for number in range(60, 150):
        asks.ask(number, "s", number)
        asks.answer(number, 1, number + 0.001)
    assert asks.wait_s == 0.1


def test_the_share_of_answers_follows_what_is_lost() -> None:
    asks = _asks()
    for number in range(1, 200):
        asks.ask(number, "s", number)
        if number % 2:
            asks.answer(number, 1, number + 0.01)
    assert asks.answered == pytest.approx(0.5, abs=0.1)


def test_a_source_that_never_answers_is_known_until_it_does() -> None:
    asks = _asks()
    for number in range(1, 6):
        asks.ask(number, "dead", number)
        asks.ask(100 + number, "s", number)
        asks.answer(100 + number, 1, number + 0.01)
    assert asks.silent == {"dead": 4}  # the last one may still be answered
    asks.answer(5, 0, 5.05)
    assert asks.silent == {}


def test_an_answer_in_parts_is_one_answer_and_says_whose_events_it_is_about() -> None:
    asks = _asks()
    asks.ask(7, "s", 1.0)
    assert asks.source_of(7) == "s"
    asks.answer(7, 3, 1.01)
    share = asks.answered
    asks.answer(7, 3, 1.02)
    assert asks.source_of(7) == "s"
    assert asks.answered == share
    asks.ask(8, "s", 9.0)
    assert asks.source_of(7) == ""
    assert asks.silent == {}


def test_what_costs_many_messages_is_gathered_for_longer_and_what_costs_few_is_not() -> None:
    asks = _asks()
    for number in range(1, 400):
        asks.ask(number, "s", number)
        asks.answer(number, 1, number + 0.01)
    assert asks.hold_s == 1.0
    for number in range(400, 1000):
        asks.ask(number, "s", number)
        asks.answer(number, 20, number + 0.01)
    assert asks.hold_s < 0.001


def test_it_remembers_so_many_questions_and_no_more() -> None:
    asks = _asks()
    for number in range(1, 3 * ASKS_MAX):
        asks.ask(number, f"s{number}", 1.0)
    assert asks.source_of(1) == ""
    assert asks.source_of(3 * ASKS_MAX - 1) != ""
    for number in range(3 * ASKS_MAX, 6 * ASKS_MAX):
        asks.ask(number, f"s{number}", 2.0 + number)
    assert len(asks.silent) <= ASKS_MAX
