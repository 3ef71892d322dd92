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


def test_the_more_is_lost_the_less_long_it_gathers_so_that_there_is_time_to_ask_again() -> None:
    holds = []
    for answered_of_ten in (10, 7, 5):
        asks = Asks(0.3, 0.8, 2.5, 0.1, back_s=4.0)  # whatever comes back costs too much
        for number in range(1, 400):
            asks.ask(number, "s", number)
            if (number * 7) % 10 < answered_of_ten:
                asks.answer(number, 1, number + 0.01)
        assert asks.hold_s == pytest.approx(min(2.5, 4.0 - asks.tries() * asks.wait_s), abs=0.4)
        holds.append(asks.hold_s)
    assert holds[0] == 2.5
    assert holds[0] > holds[1] > holds[2] > 0.5


def test_answers_that_were_lost_count_for_what_an_event_costs() -> None:
    """Each answer brings two events: a message for each; but where half of all questions are in vain, 1.7."""
    holds = []
    for every in (1, 2):
        asks = Asks(0.1, 0.8, 1.0, 1.6)
        for number in range(1, 400):
            asks.ask(number, "s", number)
            if number % every == 0:
                asks.answer(number, 2, number + 0.01)
        holds.append(asks.hold_s)
    assert holds[0] < 0.001
    assert holds[1] == 1.0


def test_a_source_that_is_gone_says_nothing_about_what_is_lost() -> None:
    asks = _asks()
    for number in range(1, 100):
        asks.ask(number, "dead", number)
    assert asks.answered > 0.6
    assert asks.silent["dead"] == 98


def test_a_fellow_is_known_by_what_it_gives_of_others_events() -> None:
    asks = _asks()
    assert asks.share("f") == asks.share("g") == 0.5
    for number in range(1, 200):
        asks.ask(2 * number, "", number, "f", 4)
        asks.answer(2 * number, 3, number + 0.01, 3)
        asks.ask(2 * number + 1, "", number, "g", 4)
    assert asks.share("f") == pytest.approx(0.75, abs=0.01)
    assert asks.share("g") == pytest.approx(0.0, abs=0.01)
    assert asks.answered == 1.0  # who has nothing of others' says nothing
    assert asks.silent == {}


def test_it_remembers_so_many_questions_and_no_more() -> None:
    asks = _asks()
    for number in range(1, 3 * ASKS_MAX):
        asks.ask(number, f"s{number}", 1.0)
    assert asks.source_of(1) == ""
    assert asks.source_of(3 * ASKS_MAX - 1) != ""
    for number in range(3 * ASKS_MAX, 6 * ASKS_MAX):
        asks.ask(number, f"s{number}", 2.0 + number)
    assert len(asks.silent) <= ASKS_MAX
