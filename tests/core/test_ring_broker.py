"""A broker on a ring, through its one door."""

from __future__ import annotations

import pytest

from reknit.core.io import AddLink, Drain, RemoveLink, Reply, SwapLink
from reknit.model.event import Envelope, Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from tests.core.desk import Desk
from tests.core.ring.circles import grown


def test_clients_get_what_they_want_once_and_in_order() -> None:
    ring = grown(4)
    for number in range(1, 5):
        ring.wants(f"b{number}", f"c{number}", "t")
    ring.subscribe("b1", "c1", Pattern.parse("u", "x > 3"))
    ring.run(12.0)
    for number in range(10):
        ring.says("b2", "t", str(number))
    ring.says("b3", "u", "small", x=1)
    ring.says("b3", "u", "large", x=5)
    ring.run(2.0)
    for number in range(2, 5):
        assert ring.had(f"c{number}") == [str(each) for each in range(10)]
    assert sorted(ring.had("c1")) == sorted([*(str(each) for each in range(10)), "large"])
    assert ring.count(Kind.SETTLED) == 12


@pytest.mark.parametrize("given", [AddLink("z", "z:1", 3), RemoveLink("z", 3), SwapLink("y", "z", 3)])
def test_what_changes_a_tree_is_refused_by_name(given: AddLink | RemoveLink | SwapLink) -> None:
    desk = Desk(routing="rendezvous")
    desk.give(given)
    reason = "b routes by rendezvous: it is on a ring, and has no tree whose links could change"
    assert desk.all(Reply) == [Reply(3, reason)]


def test_a_broker_leaves_when_it_has_no_clients_and_its_topics_go_to_the_next() -> None:
    ring = grown(4)
    ring.wants("b2", "c", *(f"t{number}" for number in range(12)))
    ring.run(12.0)
    asked = ring.drain("b1")
    for number in range(12):
        ring.says("b3", f"t{number}", str(number))
        ring.run(0.1)
    ring.run(5.0)
    assert (ring.replies[asked], ring.nodes["b1"].gone) == ("", True)
    assert sorted(ring.had("c"), key=int) == [str(number) for number in range(12)]


def test_what_is_retained_is_known_everywhere() -> None:
    ring = grown(3)
    ring.publish("b2", "p", Event("t", b"kept", envelope=Envelope(retain=True)))
    ring.run(2.0)
    assert {name: node.retained["t"].payload for name, node in ring.nodes.items()} == dict.fromkeys(ring.nodes, b"kept")


def test_operators_see_the_ring() -> None:
    ring = grown(3)
    ring.wants("b2", "c", "t")
    ring.run(12.0)
    table = ring.broker("b2").table()
    assert (table["ready"], table["routing"], table["ring"]["wanted"]) == (True, "rendezvous", ["t"])
    assert {table["ring"]["before"], *table["ring"]["behind"]} == {"b1", "b3"}


def test_a_broker_that_knows_nobody_of_its_contacts_is_not_ready() -> None:
    desk = Desk(routing="rendezvous", dials={"z": "z:1"})
    assert not desk.broker.table()["ready"]
    desk.give(Drain(1))
    assert desk.all(Reply) == []


def test_whoever_comes_to_a_broker_that_has_told_the_ring_that_it_leaves_is_sent_to_the_next() -> None:
    """Also where no session had to be sent on, so that nobody has said where its clients go."""
    ring = grown(3)
    ring.drain("b2")
    ring.run(0.01)
    assert ring.nodes["b2"].heir == ring.broker("b2").ring.plane.member.chord.successor[1]
    ring.run(5.0)
    assert ring.nodes["b2"].gone
