"""The way of an event: ids, the guard against copies, where it goes on, and the wait for the gate."""

from __future__ import annotations

import random

import pytest

from reknit.core.broker import Broker, BrokerOptions
from reknit.core.io import Deliver, Drop, Keep, Recall
from reknit.model.event import Event
from reknit.trace.records import Kind
from reknit.wire.messages import Events, Snapshot
from tests.core.desk import Desk, event, pattern

A = pattern("a")


# --- ids


def test_ids_rise_and_name_one_life_of_one_broker() -> None:
    desk = Desk()
    desk.client("ann", pattern("#"))
    desk.publish(event("a"), event("b"))
    desk.publish(event("c"))
    assert [each.event.id for each in desk.all(Deliver)] == [("b.1", 1), ("b.1", 2), ("b.1", 3)]
    other = Broker("b", 2, BrokerOptions(), random.Random(1))
    assert other.source != desk.broker.source


def test_an_event_is_stamped_by_the_broker_that_accepts_it() -> None:
    desk = Desk()
    desk.client("ann", pattern("#"))
    desk.publish(Event("a", b"payload", source="forged", seq=99))
    [deliver] = desk.all(Deliver)
    assert deliver.event.id == ("b.1", 1)


# --- the guard against copies


def test_a_copy_is_dropped_and_seen() -> None:
    desk = Desk("m", "n")
    first, second = desk.far_end("m", 1), desk.far_end("n", 2)
    for far in (first, second):
        far.greet()
        far.say(Snapshot([], last=True))
    desk.client("ann", pattern("#"))
    first.say(Events([event("a", 5, "z.1"), event("b", 6, "z.1")]))
    second.say(Events([event("b", 6, "z.1"), event("c", 7, "z.1"), event("a", 5, "z.1")]))
    assert [topic for topic, _ in desk.deliveries()] == ["a", "b", "c"]
    assert [record.detail for record in desk.records(Kind.DROPPED)] == ["copy", "copy"]


def test_our_own_events_do_not_come_back() -> None:
    desk = Desk("n")
    far = desk.linked("n", 1)
    desk.client("ann", pattern("#"))
    far.say(Events([event("a", 99, desk.broker.source)]))
    assert desk.deliveries() == []


def test_the_guard_forgets_the_oldest_sources_first() -> None:
    desk = Desk("n", sources_max=2)
    far = desk.linked("n", 1)
    desk.client("ann", pattern("#"))
    for source in ("x", "y", "z"):
        far.say(Events([event(source, 1, source)]))
    far.say(Events([event("z-again", 1, "z"), event("y-again", 1, "y"), event("x-again", 1, "x")]))
    assert [topic for topic, _ in desk.deliveries()] == ["x", "y", "z", "x-again"]


# --- where events go


def test_an_event_does_not_go_back_where_it_came_from() -> None:
    desk = Desk("m", "n")
    first, second = desk.far_end("m", 1), desk.far_end("n", 2)
    for far in (first, second):
        far.greet()
        far.say(Snapshot([("", [pattern("#")])], last=True))
    first.say(Events([event("a", 1, "m.1")]))
    assert first.topics() == []
    assert second.topics() == ["a"]


def test_events_that_go_on_without_a_neighbours_table_are_seen() -> None:
    desk = Desk("m", "n", gate_s_max=5.0)
    desk.linked("m", 1, A)
    desk.run(6.0)
    desk.publish(event("a"))
    dropped = [(record.peer, record.detail) for record in desk.records(Kind.DROPPED)]
    assert dropped == [("n", "its table is not known")]
    assert desk.broker.table()["unrouted"] == 1
    desk.linked("n", 2)
    desk.publish(event("a"))
    assert len(desk.records(Kind.DROPPED)) == 1


# --- the wait for the gate


def test_what_waits_at_the_gate_is_bounded_and_each_drop_is_seen() -> None:
    desk = Desk("n", held_events_max=3)
    desk.client("ann", pattern("#"))
    for number in range(5):
        desk.publish(event(f"t{number}"))
    assert [record.event.topic for record in desk.records(Kind.DROPPED) if record.event] == ["t3", "t4"]
    desk.linked("n", 1)
    assert [topic for topic, _ in desk.deliveries()] == ["t0", "t1", "t2"]


def test_what_has_waited_goes_on_in_the_order_of_its_sources_numbers() -> None:
    """Where a link has moved, what was kept for a broker comes on the old way and on the new one."""
    desk = Desk("m", "n")
    desk.client("ann", pattern("#"))
    first, second = desk.far_end("m", 1), desk.far_end("n", 2)
    first.greet()
    first.say(Events([event("later", 2, "z.1")]))
    second.greet()
    second.say(Snapshot([], last=True), Events([event("sooner", 1, "z.1"), event("other", 1, "y.1")]))
    assert desk.deliveries() == []
    first.say(Snapshot([], last=True))
    assert [topic for topic, _ in desk.deliveries()] == ["sooner", "later", "other"]


# --- the next life, and the one before


def sure(topic: str, seq: int = 0, source: str = "") -> Event:
    return Event(topic, b"x", qos=1, source=source, seq=seq)


def test_what_no_neighbour_has_taken_over_is_kept_until_one_has() -> None:
    desk = Desk("n", durable=True)
    far = desk.linked("n", 1, A)
    desk.publish(sure("a"), event("a"), sure("b"), sure("a"))
    [keep] = desk.all(Keep)
    assert [(each.seq, keep.routed) for each in keep.events] == [(1, True), (3, True), (4, True)]
    assert desk.all(Drop) == []
    far.ack()
    assert [each.events for each in desk.all(Drop)] == [[("b.1", 1), ("b.1", 3), ("b.1", 4)]]


def test_what_nobody_else_wants_is_not_kept_nor_is_anything_without_a_store() -> None:
    desk = Desk("n", durable=True)
    desk.linked("n", 1)
    desk.publish(sure("a"))
    assert desk.all(Keep) == []
    careless = Desk("n")
    careless.linked("n", 1, A)
    careless.publish(sure("a"))
    assert careless.all(Keep) == []


def test_what_waits_for_the_gate_is_kept_and_kept_again_once_it_is_routed() -> None:
    desk = Desk("n", durable=True)
    desk.client("ann", A)
    desk.publish(sure("a"))
    assert [each.routed for each in desk.all(Keep)] == [False]
    assert desk.deliveries() == []
    desk.linked("n", 1, A)
    assert [each.routed for each in desk.all(Keep)] == [False, True]
    assert desk.deliveries() == [("a", "ann")]


def test_what_was_kept_goes_to_neighbours_and_to_clients_only_if_it_was_not_routed() -> None:
    desk = Desk("n", durable=True)
    kept = [(sure("a", 1, "b.0"), True), (sure("a", 2, "b.0"), False)]
    desk.give(Recall({"ann": (A,)}, {}, (), kept))
    far = desk.far_end("n", 1)
    far.greet()
    far.say(Snapshot([("", [A])], last=True))
    assert [(each.event.id, [name for name, _ in each.matches]) for each in desk.all(Deliver)] == [
        (("b.0", 2), ["ann"])
    ]
    assert [each.id for message in far.heard() if isinstance(message, Events) for each in message.events] == [
        ("b.0", 1),
        ("b.0", 2),
    ]
    far.ack()
    assert sorted(ident for each in desk.all(Drop) for ident in each.events) == [("b.0", 1), ("b.0", 2)]


def test_what_was_kept_and_nobody_wants_any_more_is_dropped() -> None:
    desk = Desk(durable=True)
    desk.give(Recall({}, {}, (), [(sure("a", 1, "b.0"), True)]))
    assert [each.events for each in desk.all(Drop)] == [[("b.0", 1)]]


def test_what_a_life_before_has_seen_is_a_copy_for_its_sessions_and_for_nobody_else() -> None:
    desk = Desk("n", durable=True)
    desk.give(Recall({"ann": (A,)}, {"z.1": 5}, (), ()))
    far = desk.linked("n", 1)
    desk.client("bob", A)
    far.say(Events([sure("a", 5, "z.1"), sure("a", 6, "z.1")]))
    found = [(each.event.seq, sorted(name for name, _ in each.matches)) for each in desk.all(Deliver)]
    assert found == [(5, ["bob"]), (6, ["ann", "bob"])]
    assert desk.broker.seen == {"z.1": 6}


def test_what_was_published_here_has_been_seen_for_it_may_come_back_in_the_next_life() -> None:
    desk = Desk("n", durable=True)
    desk.linked("n", 1, A)
    desk.publish(sure("a"))
    desk.publish(sure("a"))
    assert desk.broker.seen == {desk.broker.transit.source: 2}


def test_what_waits_for_the_gate_has_not_been_seen() -> None:
    desk = Desk("m", "n")
    first = desk.far_end("m", 1)
    first.greet()
    first.say(Snapshot([], last=True))
    first.say(Events([sure("a", 5, "z.1")]))
    assert desk.broker.seen == {}


@pytest.mark.parametrize("durable", [False, True])
def test_a_copy_is_not_settled_before_the_first_one_is(durable: bool) -> None:
    """Whoever sends it again has lost its memory, and would forget it for good."""
    desk = Desk("m", "n", durable=durable)
    first, second = desk.far_end("m", 1), desk.far_end("n", 2)
    for far in (first, second):
        far.greet()
        far.say(Snapshot([("", [A])], last=True))
    first.say(Events([sure("a", 5, "z.1")]))
    again = desk.far_end("m", 3)
    again.greet(incarnation=99)
    again.say(Events([sure("a", 5, "z.1")]), Snapshot([("", [A])], last=True))
    desk.run(0.5)
    assert again.seq == 1
    assert max(frame.settled for frame in [*again.acks(), *again.data()]) == 0
    second.ack()
    desk.run(0.5)
    assert again.acks()[-1].settled == 1
    assert second.topics() == ["a"]


def test_what_was_published_here_and_comes_round_waits_for_nobody() -> None:
    """It is the very event that is on its way to the other neighbour: each of both would wait for the other."""
    desk = Desk("m", "n")
    first, second = desk.linked("m", 1, A), desk.linked("n", 2, A)
    desk.publish(sure("a"))
    (own,) = [each for message in second.heard() if isinstance(message, Events) for each in message.events]
    assert first.topics() == ["a"]
    second.say(Events([own]))
    desk.run(0.5)
    assert second.acks()[-1].settled == second.seq
