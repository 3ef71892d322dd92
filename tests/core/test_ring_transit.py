from __future__ import annotations

import pytest

from reknit.core import ring_transit
from reknit.core.ring.order import Load
from reknit.core.ring_broker import RingBroker
from tests.core.desk import Desk, event


def carried() -> tuple[Desk, list[Load]]:
    """A broker whose ring takes what it is given, and keeps it."""
    desk, loads = Desk(routing="rendezvous"), list[Load]()
    assert isinstance(desk.broker, RingBroker)

    def carry(some: list[Load]) -> None:
        for each in some:
            each.hold()
        loads.extend(some)

    desk.broker.transit.carry = carry  # type: ignore[attr-defined]
    return desk, loads


def test_an_event_names_the_one_before_it_of_the_same_topic_that_has_not_settled() -> None:
    desk, loads = carried()
    desk.publish(event("t"), event("u"), event("t"))
    desk.publish(event("u"))
    assert [(load.event.seq, load.before) for load in loads] == [(1, 0), (2, 0), (3, 1), (4, 2)]


def test_what_has_settled_is_not_waited_for() -> None:
    desk, loads = carried()
    desk.publish(event("t"))
    loads[0].let_go(desk.broker.turn)
    desk.broker._let_go()
    desk.publish(event("t"))
    assert [load.before for load in loads] == [0, 0]


def test_of_topics_there_is_a_bound_and_those_that_have_settled_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring_transit, "TOPICS_MAX", 2)
    desk, loads = carried()
    desk.publish(event("t"))
    desk.publish(event("u"))
    loads[1].let_go(desk.broker.turn)
    desk.broker._let_go()
    for topic in ("v", "t", "u"):
        desk.publish(event(topic))
    assert [(load.event.topic, load.before) for load in loads[2:]] == [("v", 0), ("t", 1), ("u", 0)]
