"""What the links report of a greeting: whoever is above them knows by that who is a neighbour, and in which life."""

from __future__ import annotations

import random
from typing import Any

import pytest

from reknit.core.links.events import Adopted, Answered, LinkEvent, Renewed, Stranger, TurnedAway
from reknit.core.links.links import Links
from reknit.core.links.options import LinkOptions
from reknit.core.turn import Turn
from reknit.wire.codec import VERSION, encode
from reknit.wire.messages import Farewell, Frame, Hello, Refuse

CONN = 3


def _links(*neighbours: str) -> Links:
    links = Links(Turn("b", observing=True), "b:1", 1, "flooding", LinkOptions(), random.Random(1))
    for name in neighbours:
        links.add(name, "")
    return links


def _hello(**fields: Any) -> Hello:
    said: dict[str, Any] = {
        "dialect": "flooding",
        "name": "n",
        "address": "",
        "incarnation": 1,
        "session": 0,
        "received": 0,
    }
    said |= {"linked": True, "wave": None}
    return Hello(version=VERSION, **(said | fields))


def _called(links: Links, hello: Hello) -> list[LinkEvent]:
    links.accepted(CONN)
    return list(links.received(CONN, encode(hello)))


def _asked(links: Links, frame: Frame) -> list[LinkEvent]:
    links.ask("n", "n:1", ("b", 1))
    links.dialled("n", CONN)
    return list(links.received(CONN, encode(frame)))


def test_a_neighbour_that_calls_begins_a_session_and_is_known_in_another_life() -> None:
    links = _links("n")
    assert _called(links, _hello()) == [Renewed("n", reborn=False)]
    assert _called(links, _hello(incarnation=2)) == [Renewed("n", reborn=True)]


def test_a_caller_that_holds_us_for_its_neighbour_is_adopted() -> None:
    assert _called(_links(), _hello()) == [Adopted("n")]


def test_a_caller_that_asks_for_a_link_is_a_stranger() -> None:
    hello = _hello(linked=False, wave=("n", 1))
    assert _called(_links(), hello) == [Stranger(CONN, hello)]


def test_a_neighbour_that_asks_for_a_link_has_not_heard_of_it_or_is_out_of_the_swap_that_has_made_it() -> None:
    hello = _hello(linked=False, wave=("n", 1))
    assert _called(_links("n"), hello) == [Renewed("n", reborn=False)]
    links = _links("n")
    links.binds = lambda peer: peer == "n"
    assert _called(links, hello) == [TurnedAway("n", Refuse("it asks to be joined", retry=False, stranger=True))]


def test_one_that_is_asked_answers_or_refuses() -> None:
    assert _asked(_links(), _hello()) == [Answered("n", CONN, _hello())]
    refusal = Refuse("not now", retry=True, stranger=False)
    assert _asked(_links(), refusal) == [TurnedAway("n", refusal)]


@pytest.mark.parametrize(
    ("frame", "fault"),
    [
        (Farewell("silent for 4 s"), "a Farewell before a greeting"),
        (_hello(name="x"), "n was dialled, x answers"),
        (_hello(dialect="rendezvous"), "routes by rendezvous, not by flooding"),
    ],
)
def test_one_that_is_asked_and_says_anything_else_was_there_and_gives_no_answer(frame: Frame, fault: str) -> None:
    refusal = Refuse(f"n gives no answer: {fault}", retry=True, stranger=False)
    assert _asked(_links(), frame) == [TurnedAway("n", refusal, reached=True)]
