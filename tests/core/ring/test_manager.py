"""What cannot be is refused with the reason, before anybody else hears of it; what goes wrong leaves all as it was."""

from __future__ import annotations

import msgspec
import pytest

from reknit.wire.codec import decode
from reknit.wire.messages import Data
from reknit.wire.planes import PlanesMessage
from tests.core.ring.circles import Ring, grown


def said(ring: Ring) -> list[str]:
    """Every word about places that somebody sends from now on."""
    words: list[str] = []

    def hear(sender: str, receiver: str, frame: bytes) -> None:
        heard = decode(frame)
        if isinstance(heard, Data):
            words.extend(type(each).__name__ for each in heard.messages if isinstance(each, PlanesMessage))

    ring.sent = hear
    return words


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("version", "the plan is for version 7, and the network is at 1"),
        ("one place", "b1 and b2 are both to be at the ring id"),
        ("twice", "b1 is placed twice"),
        ("missing", "b3 is on the ring, and the plan has no place for it: the network has changed"),
        ("manager", "the plan has no place for b1"),
        ("changed", "the network has changed: b3 is at "),
        ("stranger", "the network has changed: b9 is not on the ring"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_before_the_first_word(fault: str, why: str) -> None:
    ring = grown(3)
    words = said(ring)
    places = ring.turned("b1", "b2")
    if fault == "one place":
        places[0] = ((places[1][0][0], "b1", "b1"), places[0][1])
    elif fault == "twice":
        places.append(((1, "b1", "b1"), 1))
    elif fault == "missing":
        places = [each for each in places if each[0][1] != "b3"]
    elif fault == "manager":
        places = [each for each in places if each[0][1] != "b1"] + [((5, "b9", "b9"), 5)]
    elif fault == "changed":
        places = [(spot, was + (spot[1] == "b3")) for spot, was in places]
    elif fault == "stranger":
        places.append(((5, "b9", "b9"), 5))
    asked = ring.reshape("b1", 7 if fault == "version" else 1, places)
    assert ring.replies[asked].startswith(why)
    ring.run(3.0)
    assert words == []


def test_a_plan_for_a_network_that_has_changed_since_is_refused_by_who_knows() -> None:
    ring = grown(6, successors_max=1)
    known = [spot[1] for spot in ring.broker("b1").ring.plane.member.chord.known()]
    far = next(name for name in ring.nodes if name not in (*known, "b1"))
    places = [(spot, was + (spot[1] == far)) for spot, was in ring.turned("b1", known[0])]
    asked = ring.reshape("b1", 1, places)
    ring.run(3.0)
    assert ring.replies[asked].startswith(f"{far}: the network has changed: {far} is at")
    assert ring.replies[asked].endswith("; nothing has changed")
    assert (ring.versions(), [len(ring.broker(name).ring.planes) for name in ring.nodes]) == ({1}, [1] * 6)


def test_one_change_at_a_time() -> None:
    ring = grown(3)
    first = ring.reshape("b1", 1, ring.turned("b1", "b2"))
    second = ring.reshape("b1", 1, ring.turned("b1", "b2"))
    assert "b1 is changing the network to version" in ring.replies[second]
    ring.run(5.0)
    assert ring.replies[first] == ""


def test_who_takes_part_in_one_begins_no_other() -> None:
    ring = grown(3)
    ring.reshape("b1", 1, ring.turned("b1", "b2"))
    while ring.broker("b3").reshaping.change is None:
        ring.run(0.0005)
    words = said(ring)
    second = ring.reshape("b3", 1, ring.turned("b1", "b2"))
    assert ring.replies[second].startswith("b1 is changing the network to version ")
    assert "Stage" not in words
    ring.run(5.0)
    assert "Dismiss" not in words


def test_a_plan_made_before_somebody_came_is_refused_by_who_is_beside_it() -> None:
    ring = grown(6, successors_max=1)
    places = ring.turned("b1", "b2")
    ring.come("b7", "b1")

    def knows(name: str) -> bool:
        return "b7" in (name, *(spot[1] for spot in ring.broker(name).ring.plane.member.chord.known()))

    while ring.broker("b7").astray():
        ring.run(0.01)  # only those beside it know of it
    manager = next(name for name in ring.nodes if not knows(name))
    asked = ring.reshape(manager, 1, places)
    ring.run(3.0)
    assert "the network has changed: b7 is on the ring, and the plan has no place for it" in ring.replies[asked]
    assert ring.versions() == {1}


def test_a_broker_that_stays_away_ends_the_change() -> None:
    ring = grown(3)
    places = ring.turned("b1", "b2")
    ring.lose("b3")
    asked = ring.reshape("b1", 1, places)
    ring.run(10.0)
    assert ring.replies[asked] == "b3 was lost in step INIT; nothing has changed"
    assert ring.versions() == {1}


def test_so_does_one_that_does_not_finish_a_step() -> None:
    ring = grown(3)
    ring.options = msgspec.structs.replace(ring.options)
    for name in ring.nodes:
        ring.broker(name).manager.options = msgspec.structs.replace(ring.options.ring, step_s_max=2.0)
    ring.broker("b3").reshaping.check = lambda: None  # type: ignore[method-assign]
    asked = ring.reshape("b1", 1, ring.turned("b1", "b2"))
    ring.run(6.0)
    assert ring.replies[asked] == "b3 did not finish step OVERLAY within 2 s; nothing has changed"


def test_who_has_not_heard_of_all_yet_does_not_say_that_one_is_not_there() -> None:
    """Just after it has come."""
    ring = grown(4)
    broker = ring.broker("b1")
    places, chord = ring.turned("b1", "b2"), broker.ring.plane.member.chord
    chord.behind, chord.fingers = chord.behind[:1], {}
    assert broker.manager._difference(places) == ""
