"""Words that must not get lost."""

from __future__ import annotations

import random

from reknit.community.courier import Courier
from reknit.community.io import Send
from reknit.community.options import CourierOptions
from reknit.community.turn import Turn
from reknit.wire.peers import Ack, Remove, Sure, decode_word
from tests.community.desk import a_turn

WORD = Remove("soccer")


def sent(turn_effects: list[object]) -> list[Sure]:
    return [
        word for each in turn_effects if isinstance(each, Send) and isinstance(word := decode_word(each.frame), Sure)
    ]


def test_a_word_is_repeated_until_it_is_confirmed() -> None:
    turn = a_turn()
    courier = Courier(turn, CourierOptions(retry_s=1.0, tries=4))
    courier.send("a", WORD)
    turn.now = 1.0
    assert courier.due() == []
    first, second = sent(list(turn.effects))
    assert first == second
    courier.confirmed("a", Ack(first.number))
    assert courier.deadline() == float("inf")


def test_who_never_confirms_is_named_with_the_word() -> None:
    turn = a_turn()
    courier = Courier(turn, CourierOptions(retry_s=1.0, tries=3))
    courier.send("a", WORD)
    failed = []
    for second in range(1, 5):
        turn.now = float(second)
        failed += courier.due()
    assert [(each.to, each.word) for each in failed] == [("a", WORD)]
    assert len(sent(list(turn.effects))) == 3


def test_a_confirmation_by_somebody_else_is_none() -> None:
    turn = a_turn()
    courier = Courier(turn, CourierOptions())
    courier.send("a", WORD)
    (word,) = sent(list(turn.effects))
    courier.confirmed("b", Ack(word.number))
    assert courier.deadline() < float("inf")
    assert turn.counters == {"unasked": 1}


def test_each_copy_is_confirmed_and_the_first_is_acted_on() -> None:
    turn = a_turn()
    courier = Courier(turn, CourierOptions())
    assert [courier.take("a", Sure(7, b"")), courier.take("a", Sure(7, b"")), courier.take("b", Sure(7, b""))] == [
        True,
        False,
        True,
    ]
    assert len(turn.effects) == 3


def test_what_is_over_the_bound_is_sent_once_and_counted() -> None:
    turn = a_turn()
    courier = Courier(turn, CourierOptions(waiting_max=1))
    courier.send("a", WORD)
    courier.send("b", WORD)
    assert len(sent(list(turn.effects))) == 2
    assert turn.counters == {"courier_full": 1}
    turn.now = 99.0
    courier.due()
    assert [each.to for each in turn.effects[2:] if isinstance(each, Send)] == ["a"]


def test_numbers_of_another_life_are_others() -> None:
    numbers = []
    for life in (1, 2):
        turn = Turn("me", random.Random(1), False, life)
        Courier(turn, CourierOptions()).send("a", WORD)
        numbers += [each.number for each in sent(list(turn.effects))]
    assert len(set(numbers)) == 2


def test_a_word_goes_to_one_after_the_other_until_one_confirms() -> None:
    turn = a_turn()
    courier = Courier(turn, CourierOptions(retry_s=1.0, tries=5))
    courier.send_to_one(("a", "b", "c"), WORD, tries=2)
    for second in (1.0, 2.0, 3.0):
        turn.now = second
        assert courier.due() == []
    assert [each.to for each in turn.effects if isinstance(each, Send)] == ["a", "a", "b", "b"]
    courier.confirmed("b", Ack(sent(list(turn.effects))[-1].number))
    assert courier.deadline() == float("inf")


def test_if_none_of_them_confirms_the_last_is_named() -> None:
    turn = a_turn()
    courier = Courier(turn, CourierOptions(retry_s=1.0))
    courier.send_to_one(("a", "b"), WORD, tries=1)
    turn.now = 1.0
    assert courier.due() == []
    turn.now = 2.0
    assert [each.to for each in courier.due()] == ["b"]
