"""The door: one copy per client, the gate, and alarms that are early or stale."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.broker import Broker, BrokerOptions
from reknit.core.io import (
    Attach,
    Deliver,
    Detach,
    Dial,
    DialFailed,
    Dialled,
    Due,
    Lost,
    Observe,
    Received,
    Remember,
    Send,
    Subscribe,
    Unsubscribe,
)
from reknit.trace.records import Kind
from reknit.wire.codec import encode
from reknit.wire.messages import Events, Refuse, Snapshot, Sub, Unsub
from tests.core.desk import Desk, event, pattern

A, B = pattern("a"), pattern("b")


# --- clients


def test_a_client_gets_one_copy_and_hears_which_subscriptions_match() -> None:
    desk = Desk()
    desk.client("ann", pattern("#"), pattern("a", "x > 1"), A, B)
    desk.publish(event("a", x=2))
    [deliver] = desk.all(Deliver)
    [(client, patterns)] = deliver.matches
    assert client == "ann"
    assert sorted(patterns) == sorted([pattern("#"), pattern("a", "x > 1"), A])


def test_a_client_that_went_gets_nothing() -> None:
    desk = Desk()
    desk.client("ann", A)
    desk.client("ben", A)
    desk.give(Detach("ann"))
    desk.publish(event("a"))
    assert desk.deliveries() == [("a", "ben")]
    assert desk.broker.table()["clients"] == ["ben"]


def test_attaching_twice_and_detaching_a_stranger_do_nothing() -> None:
    desk = Desk()
    desk.client("ann", A)
    assert desk.give(Attach("ann")) == []
    assert desk.give(Detach("zoe")) == []
    assert desk.give(Unsubscribe("zoe", (A,))) == []
    assert [record.client for record in desk.records(Kind.ATTACHED)] == ["ann"]


def test_subscribing_twice_is_one_subscription() -> None:
    desk = Desk("n")
    far = desk.linked("n", 1)
    desk.client("ann", A, A)
    desk.give(Subscribe("ann", (A,)))
    assert far.heard() == [Sub([A])]
    desk.give(Unsubscribe("ann", (A,)))
    assert far.heard() == [Sub([A]), Unsub([A])]


# --- the gate


def test_a_broker_that_begins_waits_for_its_neighbours_tables() -> None:
    desk = Desk("m", "n")
    first, second = desk.far_end("m", 1), desk.far_end("n", 2)
    first.greet()
    assert first.heard() == []  # n has not been heard
    first.say(Snapshot([], last=True), Events([event("a", 1, "m.1")]))
    desk.client("ann", A)
    assert desk.deliveries() == []
    assert desk.broker.table()["waiting_for"] == ["n"]
    second.greet()
    assert second.heard() == [Snapshot([("", [A])], last=True)]  # m has been
    second.say(Snapshot([("", [A])], last=True))
    assert desk.deliveries() == [("a", "ann")]
    assert second.topics() == ["a"]
    assert first.heard() == [Snapshot([("", [A])], last=True)]
    assert desk.broker.table()["ready"] is True


def test_the_gate_opens_after_a_bounded_time() -> None:
    desk = Desk("m", "n", gate_s_max=5.0)
    far = desk.far_end("m", 1)
    far.greet()
    far.say(Snapshot([("", [A])], last=True))
    desk.publish(event("a"))
    for _ in range(6):
        desk.run(1.0)
        far.ack()
    assert far.topics() == ["a"]


def test_a_new_link_does_not_wait() -> None:
    desk = Desk()
    desk.client("ann", A)
    far = desk.far_end("n", 1)
    far.greet()
    assert far.heard() == [Snapshot([("", [A])], last=True)]


# --- the door


def test_remember_comes_before_whatever_rests_on_it() -> None:
    """A shell that dies between two effects must not have greeted a neighbour that the next life does not know."""
    desk = Desk()
    desk.far_end("n", 1).greet()
    kinds = [type(each) for each in desk.effects]
    assert kinds.index(Remember) < kinds.index(Send)


def test_the_first_deadline_is_now_and_a_lone_broker_wants_no_alarm() -> None:
    broker = Broker("b", 1, BrokerOptions(observe=True), random.Random(1))
    assert broker.deadline() == 0.0
    [observe] = broker.handle(Due(), 0.0)
    assert isinstance(observe, Observe)
    assert [record.kind for record in observe.records] == [Kind.STARTED]
    assert broker.deadline() is None


@given(st.lists(st.floats(0, 20), max_size=30))
def test_an_early_or_stale_alarm_does_nothing(times: list[float]) -> None:
    desk = Desk("n")
    far = desk.linked("n", 1)
    desk.run(0.1)
    for time in sorted(times):
        at = desk.broker.deadline()
        if at is not None and desk.now + time < at:
            desk.now += time
            assert desk.give(Due()) == []
            assert desk.broker.deadline() == at
        else:
            desk.run(time)
            far.ack()


def test_an_alarm_moves_the_deadline_on() -> None:
    """Else a shell would spin."""
    desk = Desk("n", dials={"a": "a:1"})
    desk.linked("n", 1)
    for _ in range(200):
        at = desk.broker.deadline()
        if at is None:
            break
        desk.now = max(desk.now, at)
        if any(isinstance(each, Dial) for each in desk.give(Due())):
            desk.give(DialFailed("a", "nobody there"))
        later = desk.broker.deadline()
        assert later is None or later > desk.now


def test_without_observation_only_what_operators_must_hear_of_is_observed() -> None:
    desk = Desk("n", observe=False)
    far = desk.linked("n", 1)
    desk.client("ann", A)
    far.say(Events([event("a", 1, "n.1")]))
    desk.give(Lost(1, "reset"))
    kinds = [record.kind for each in desk.all(Observe) for record in each.records]
    assert kinds == [Kind.STARTED, Kind.LINK_ADDED, Kind.LINK_UP, Kind.LINK_DOWN]
    assert desk.deliveries() == [("a", "ann")]


def test_the_same_inputs_have_the_same_effects() -> None:
    def story(seed: int) -> list[object]:
        desk = Desk("n", seed=seed)
        far = desk.linked("n", 1, A)
        desk.client("ann", pattern("#"))
        desk.publish(event("a"), event("b"))
        far.say(Events([event("c", 1, "n.1")]))
        desk.run(10.0)
        return list(desk.effects)

    assert story(1) == story(1)
    assert story(1) != story(2)  # session numbers are drawn


# --- what the next life is told


def test_the_next_life_also_begins_with_those_that_this_one_has_not_found() -> None:
    desk = Desk("m", dials={"n": "n:1"}, founded=False)
    desk.linked("m", 1)
    last = desk.all(Remember)[-1]
    assert (last.neighbours, last.wanted) == ({"m": ""}, {"n": "n:1"})


def test_the_links_of_the_life_before_need_no_search() -> None:
    broker = Broker("b", 2, BrokerOptions(), random.Random(1), {"m": "m:1", "n": ""}, "b:1", {"n": "n:1"})
    effects = broker.handle(Due(), 0.0)
    assert sorted(broker.table()["neighbours"]) == ["n"]
    assert sorted(broker.table()["wanted_links"]) == ["m"]
    assert [each for each in effects if isinstance(each, Dial)] == []  # m may be behind n, which has to be asked first


def test_a_configured_link_that_is_refused_holds_no_events_and_is_tried_again() -> None:
    desk = Desk(dials={"n": "n:1"}, founded=False)
    desk.client("ann", A)
    desk.publish(event("a"))
    assert desk.deliveries() == []
    desk.give(Dialled("n", 7))
    desk.give(Received(7, encode(Refuse("the link would close a cycle", retry=False, stranger=False))))
    assert desk.deliveries() == [("a", "ann")]
    assert [record.detail for record in desk.records(Kind.REFUSED)] == ["the link would close a cycle"]
    dials = len(desk.all(Dial))
    desk.run(60.0)
    assert len(desk.all(Dial)) > dials
