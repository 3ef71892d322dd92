"""Words that must not get lost."""

from __future__ import annotations

from reknit.community.courier import Courier
from reknit.community.io import Send
from reknit.community.options import CourierOptions
from reknit.wire.peers import Ack, Remove, Sure, decode_word
from tests.community.desk import a_turn

WORD = Remove("soccer")


def sent(turn_effects: list[object]) -> list[Sure]:
    return [
        word for each in turn_effects if isinstance(each, Send) and isinstance(word := decode_word(each.frame), Sure)
    ]


def test_a_word_is_repeated_until_it_is_confirmed() -> None:
    turn = a_turn()
    courier = Courier(turn, CourierOptions(retry_s=1.0, tries=4), 1)
    courier.send("a", WORD)
    turn.now = 1.0
    assert courier.due() == []
    first, second = sent(list(turn.effects))
    assert first == second
    courier.confirmed("a", Ack(first.number))
    assert courier.deadline() == float("inf")


def test_who_never_confirms_is_named_with_the_word() -> None:
    turn = a_turn()
    courier = Courier(turn, CourierOptions(retry_s=1.0, tries=3), 1)
    courier.send("a", WORD)
    failed = []
    for second in range(1, 5):
        turn.now = float(second)
        failed += courier.due()
    assert [(each.to, each.word) for each in failed] == [("a", WORD)]
    assert len(sent(list(turn.effects))) == 3


def test_a_confirmation_by_somebody_else_is_none() -> None:
    turn = a_turn()
    courier = Courier(turn, CourierOptions(), 1)
    courier.send("a", WORD)
    (word,) = sent(list(turn.effects))
    courier.confirmed("b", Ack(word.number))
    assert courier.deadline() < float("inf")
    assert turn.counters == {"unasked": 1}


def test_each_copy_is_confirmed_and_the_first_is_acted_on() -> None:
    turn = a_turn()
    courier = Courier(turn, CourierOptions(), 1)
    assert [courier.take("a", Sure(7, b"")), courier.take("a", Sure(7, b"")), courier.take("b", Sure(7, b""))] == [
        True,
        False,
        True,
    ]
    assert len(turn.effects) == 3


def test_what_is_over_the_bound_is_sent_once_and_counted() -> None:
    turn = a_turn()
    courier = Courier(turn, CourierOptions(waiting_max=1), 1)
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
        turn = a_turn()
        Courier(turn, CourierOptions(), life).send("a", WORD)
        numbers += [each.number for each in sent(list(turn.effects))]
    assert len(set(numbers)) == 2
