"""Who was a neighbour: how it is answered, and for how long it is remembered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from reknit.core.links.former import DOUBT_S, FORMER_MAX, HOLDERS_MAX, LEFT_MAX, Former
from reknit.wire.codec import VERSION
from reknit.wire.messages import Hello


def _hello(name: str, linked: bool = True) -> Hello:
    return Hello(VERSION, "flooding", name, "", 1, 0, 0, linked, None)


def test_a_stranger_who_holds_us_for_a_neighbour_may_be_right() -> None:
    assert Former("a").refusal(_hello("b")) is None


def test_who_does_not_even_say_so_is_refused() -> None:
    refusal = Former("a").refusal(_hello("b", linked=False))
    assert refusal is not None
    assert (refusal.reason, refusal.retry, refusal.stranger) == ("a and b are no neighbours", False, True)


def test_who_was_left_knows_it() -> None:
    former = Former("a")
    former.leave("b")
    refusal = former.refusal(_hello("b"))
    assert refusal is not None
    assert not refusal.retry


def test_who_was_given_up_may_ask_and_hears_who_has_left_for_good() -> None:
    former = Former("a")
    former.give_up("b", 0.0)
    former.has_gone("c", ["b", "d"])
    former.has_gone("e", ["d"])
    refusal = former.refusal(_hello("b"))
    assert refusal is not None
    assert (refusal.retry, refusal.stranger, refusal.left) == (True, True, ["c"])


def test_a_neighbour_is_none_of_them_and_needs_to_hear_nothing_any_more() -> None:
    former = Former("a")
    former.give_up("b", 0.0)
    former.has_gone("c", ["b"])
    former.has_gone("e", ["b", "d"])
    former.is_linked("b")
    assert former.refusal(_hello("b")) is None
    assert former.gone == {"e": ["d"]}


def test_one_who_had_left_for_good_may_come_again() -> None:
    former = Former("a")
    former.has_gone("c", ["b"])
    former.is_linked("c")
    assert former.gone == {}


def test_a_link_that_may_come_to_nothing_forgets_only_that_it_was_left() -> None:
    former = Former("a")
    former.give_up("b", 0.0)
    former.meets("b")
    refusal = former.refusal(_hello("b"))
    assert refusal is not None
    assert refusal.retry


def test_bounds() -> None:
    former = Former("a")
    former.give_up("b", 0.0)
    for number in range(FORMER_MAX + LEFT_MAX):
        former.has_gone(f"n{number}", ["b"])
    refusal = former.refusal(_hello("b"))
    assert refusal is not None
    assert len(former.gone) == FORMER_MAX
    assert len(refusal.left) == LEFT_MAX
    former.has_gone("last", [f"b{number}" for number in range(HOLDERS_MAX + 1)])
    assert former.gone["last"] == [f"b{number}" for number in range(1, HOLDERS_MAX + 1)]
    for number in range(FORMER_MAX):
        former.give_up(f"n{number}", 0.0)
    assert former.refusal(_hello("b")) is None


def test_of_a_part_that_is_gone_all_have_heard_when_all_that_was_sent_is_settled() -> None:
    former = Former("a")
    busy: Any = SimpleNamespace(idle=False)
    idle: Any = SimpleNamespace(idle=True)
    former.part_from("b")
    assert not former.told([busy, idle], 1.0)
    assert former.apart == {"b": None}
    assert former.told([idle, idle], 1.0)
    assert former.apart == {}
    assert not former.told([idle], 1.0)


def test_a_next_life_has_said_it_when_it_has_doubted_for_a_while() -> None:
    former = Former("a")
    former.recall({}, {}, {"b": None})
    former.apart_from = 1.0
    assert not former.told([], 1.0 + DOUBT_S / 2)
    assert former.told([], 1.0 + DOUBT_S)
