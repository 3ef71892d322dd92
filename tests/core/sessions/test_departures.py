"""Draining: by hand, ``b`` with its neighbour ``n``, which the test plays; and what a drain does to a whole network."""

from __future__ import annotations

import pytest

from reknit.core.io import (
    AddLink,
    Deliver,
    Detach,
    Drain,
    DropAside,
    DropMove,
    Ended,
    Export,
    Exported,
    KeepAside,
    KeepMove,
    Lost,
    Recall,
    Redirect,
    Refer,
    RemoveLink,
    Reply,
    Stay,
    StopDrain,
    Subscribe,
    SwapLink,
    Thaw,
)
from reknit.core.options import BrokerOptions
from reknit.core.overlay.options import RepairOptions
from reknit.core.sessions.options import SessionOptions
from reknit.model.event import Event
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind
from reknit.wire.messages import (
    Draining,
    Events,
    Leave,
    Lock,
    LockNack,
    Offer,
    Opened,
    Refuse,
    Rest,
    Seek,
    Taken,
    Told,
    Unsub,
    Welcome,
    Withdraw,
)
from tests.core.desk import Desk, FarEnd, event, pattern

A, B = pattern("a"), pattern("b")


def _draining(
    *clients: str, wants: tuple[str, ...] = ("a",), durable: bool = False, **options: object
) -> tuple[Desk, FarEnd]:
    desk = Desk("n", sessions=SessionOptions(**options), durable=durable)  # type: ignore[arg-type]
    far = desk.linked("n", 1)
    for client in clients:
        desk.client(client, *map(pattern, wants))
    far.ack()
    far.forget()
    desk.give(Drain(7))
    assert far.heard() == [Draining(True)]
    far.forget()
    far.say(Welcome("", "n:1883"))
    return desk, far


def _switched(**options: object) -> tuple[Desk, FarEnd]:
    desk, far = _draining("ann", **options)
    assert far.heard() == [Offer("ann", 1, 0, [A], True)]
    far.forget()
    far.say(Opened("ann", 1, "", False))
    assert far.heard() == [Rest("ann", 1, b"", False)]
    far.forget()
    assert desk.all(Export) == [Export("ann")]
    return desk, far


def test_a_session_goes_in_three_steps_and_then_the_broker_leaves() -> None:
    desk, far = _switched()
    assert desk.all(Refer) == [Refer("n", "n:1883")]
    desk.give(Exported("ann", b"state"))
    assert far.heard() == [Rest("ann", 1, b"state", True)]
    assert desk.all(Redirect) == []
    far.forget()
    far.say(Taken("ann", 1))
    assert desk.all(Redirect) == [Redirect("ann", "n", "n:1883")]
    assert far.heard() == [Told("ann", 1), Unsub([A])]
    assert desk.broker.table()["clients"] == []
    far.ack()
    assert far.heard()[-1] == Leave()
    assert desk.all(Ended) == []
    far.say(Leave())
    far.ack()
    assert desk.all(Ended) == [Ended()]
    assert desk.all(Reply) == [Reply(7, "")]
    assert [record.peer for record in desk.records(Kind.MOVED_OUT)] == ["n"]


def test_until_it_is_open_a_session_is_served_and_then_kept_aside() -> None:
    desk, far = _draining("ann")
    far.say(Events([event("a", 1, "n.1")]))
    far.say(Opened("ann", 1, "", False), Events([event("a", 2, "n.1")]))
    desk.publish(event("a"))
    assert [(each.event.id, each.client) for each in desk.records(Kind.DELIVERED)] == [(("n.1", 1), "ann")]


def test_what_was_kept_aside_is_delivered_in_its_order_if_the_session_is_taken_back() -> None:
    desk, far = _switched(move_s_max=1.0)
    far.say(Events([event("a", 1, "n.1"), event("a", 2, "n.1")]))
    for _ in range(12):
        desk.run(0.1)
        far.ack()
    assert desk.all(Thaw) == [Thaw("ann")]
    assert [each.event.seq for each in desk.records(Kind.DELIVERED) if each.event] == [1, 2]
    assert Withdraw("ann", 1) in far.heard()
    desk.run(1.0)
    assert Offer("ann", 2, 0, [A], True) in far.heard()


def test_a_goodbye_takes_a_session_back() -> None:
    desk, far = _switched()
    desk.give(Exported("ann", b"state"))
    far.forget()
    desk.give(Stay("ann"))
    assert far.heard() == [Withdraw("ann", 1)]
    assert desk.all(Thaw) == [Thaw("ann")]
    far.say(Taken("ann", 1))  # which was on its way
    assert desk.all(Redirect) == []
    desk.give(Stay("nobody"))
    assert far.heard() == [Withdraw("ann", 1)]


def _sure(seq: int) -> Event:
    return Event("a", qos=1, source="n.1", seq=seq)


def test_with_a_store_what_is_kept_aside_is_in_it_until_the_session_stays() -> None:
    desk, far = _switched(durable=True)
    far.say(Events([_sure(1), event("a", 2, "n.1"), _sure(3)]))
    assert desk.all(KeepMove) == [KeepMove("ann", "n", 1, came=False)]
    assert [(each.client, each.number, each.event.seq) for each in desk.all(KeepAside)] == [
        ("ann", 1, 1),
        ("ann", 2, 3),
    ]
    desk.give(Stay("ann"))
    assert desk.all(DropAside) == [DropAside("ann", (1, 2))]
    assert [each.event.seq for each in desk.all(Deliver)] == [1, 2, 3]
    assert desk.all(DropMove) == []  # were *Withdraw* to be lost with this broker, the next life would say it again
    desk.give(Detach("ann"))
    assert desk.all(DropMove) == [DropMove("ann")]


def test_with_a_store_nothing_is_left_of_a_session_that_has_gone() -> None:
    desk, far = _switched(durable=True)
    far.say(Events([_sure(1)]))
    desk.give(Exported("ann", b"state"))
    far.say(Taken("ann", 1))
    assert (desk.all(DropAside), desk.all(DropMove)) == ([DropAside("ann", (1,))], [DropMove("ann")])


def test_the_next_life_has_what_was_kept_aside_and_takes_back_what_the_other_may_have() -> None:
    desk = Desk("n", durable=True)
    asides = [KeepAside("ann", 3, _sure(1), (A,)), KeepAside("bob", 4, _sure(1), (A,))]
    moves = [KeepMove("ann", "n", 5, came=False), KeepMove("bob", "n", 6, came=False)]
    desk.give(Recall({"ann": (A,)}, {"n.1": 1}, (), (), asides=asides, moves=moves))
    assert [(each.event.seq, each.matches) for each in desk.all(Deliver)] == [(1, (("ann", (A,)),))]
    assert desk.all(DropAside) == [DropAside("ann", (3,)), DropAside("bob", (4,))]
    assert desk.all(DropMove) == [DropMove("bob")]  # whose session has ended with the broker
    far = desk.far_end("n", 1)
    far.greet()
    assert [each for each in far.heard() if isinstance(each, Withdraw)] == [Withdraw("ann", 5)]


def test_an_answer_to_a_move_that_was_taken_back_says_nothing() -> None:
    desk, far = _switched()
    desk.give(Exported("ann", b""))
    desk.give(Subscribe("ann", (B,)))
    assert desk.all(Thaw) == [Thaw("ann")]
    far.say(Taken("ann", 1), Opened("ann", 1, "", False))
    desk.give(Exported("ann", b"late"))
    assert desk.all(Redirect) == []
    assert [each for each in far.heard() if isinstance(each, Rest)] == [Rest("ann", 1, b"", True)]


def test_a_session_that_ends_meanwhile_is_withdrawn() -> None:
    desk, far = _switched()
    desk.give(Detach("ann"))
    assert Withdraw("ann", 1) in far.heard()
    assert desk.all(Thaw) == []


def test_a_large_state_goes_in_parts() -> None:
    desk, far = _switched(part_bytes=4)
    desk.give(Exported("ann", b"0123456789"))
    assert far.heard() == [
        Rest("ann", 1, b"0123", False),
        Rest("ann", 1, b"4567", False),
        Rest("ann", 1, b"89", True),
    ]


def test_many_patterns_go_in_parts() -> None:
    _, far = _draining("ann", wants=tuple(f"t/{number}" for number in range(100)))
    offers = [each for each in far.heard() if isinstance(each, Offer)]
    assert [(each.part, len(each.patterns), each.last) for each in offers] == [(0, 64, False), (1, 36, True)]


def test_so_many_sessions_are_on_their_way_at_once() -> None:
    desk, far = _draining(*"vwxyz", moves_max=2)
    assert [each.client for each in far.heard() if isinstance(each, Offer)] == ["v", "w"]
    far.forget()
    far.say(Opened("v", 1, "", False))
    desk.give(Exported("v", b""))
    far.say(Taken("v", 1))
    assert [each.client for each in far.heard() if isinstance(each, Offer)] == ["x"]


def test_a_neighbour_that_has_lost_its_memory_is_asked_again_and_the_session_is_at_home() -> None:
    desk, far = _switched()
    far.say(Events([event("a", 1, "n.1")]))
    desk.give(Exported("ann", b"state"))
    far.redial(2)
    far.session, far.got, far.seq = 0, 0, 0
    far.greet(incarnation=2)
    assert [each for each in far.heard() if isinstance(each, Draining)] == [Draining(True)]
    assert desk.all(Thaw) == [Thaw("ann")]
    assert [each.event.seq for each in desk.records(Kind.DELIVERED) if each.event] == [1]
    far.say(Welcome("", "n:1883"))
    assert Offer("ann", 2, 0, [A], True) in far.heard()


def test_more_events_than_may_wait_bring_a_session_home() -> None:
    desk, far = _switched(held_events_max=2)
    far.say(Events([event("a", number, "n.1") for number in (1, 2, 3)]))
    assert desk.all(Thaw) == [Thaw("ann")]
    assert len(desk.records(Kind.DELIVERED)) == 3


@pytest.mark.parametrize("how", ["welcome", "opened"])
def test_a_refusal_ends_the_drain_and_all_is_as_before(how: str) -> None:
    desk, far = _draining("ann")
    if how == "welcome":
        desk, far = Desk("n"), None  # type: ignore[assignment]
        far = desk.linked("n", 1)
        desk.give(Drain(7))
        far.say(Welcome("not here", ""))
    else:
        far.say(Opened("ann", 1, "not here", False))
    assert desk.all(Reply) == [Reply(7, "not here")]
    assert Draining(False) in far.heard()
    assert desk.broker.sessions.progress() == {"state": "failed", "error": "not here"}
    assert [each.door for each in desk.all(Refer)] == (["n:1883", ""] if how == "opened" else [])
    desk.give(AddLink("x", "x:1", 8))
    assert desk.all(Reply) == [Reply(7, "not here")]  # a link may be made again


def test_a_refusal_for_now_is_tried_again() -> None:
    desk, far = _draining("ann")
    far.say(Opened("ann", 1, "too late", True))
    assert desk.all(Reply) == []
    desk.run(1.5)
    assert Offer("ann", 2, 0, [A], True) in far.heard()


def test_the_link_is_removed_under_a_drain() -> None:
    desk, far = _switched()
    far.say(Leave())
    assert desk.all(Reply) == [Reply(7, "the link to n was removed meanwhile")]
    assert desk.all(Thaw) == [Thaw("ann")]
    assert far.heard() == [Withdraw("ann", 1), Draining(False), Leave()]


def test_meanwhile_no_link_is_made_removed_or_swapped() -> None:
    desk, far = _draining("ann")
    desk.give(AddLink("x", "x:1", 8))
    desk.give(RemoveLink("n", 9))
    desk.give(Drain(10))
    desk.give(SwapLink("n", "m", 11))
    assert desk.all(Reply) == [Reply(number, "b is being drained") for number in (8, 9, 10, 11)]
    far.forget()
    far.say(Lock(("m", 1), "n", "b", "m:1"))
    assert far.heard() == [LockNack(("m", 1), "b is being drained", retry=True)]
    stranger = desk.far_end("y", 5)
    stranger.greet(linked=False, wave=("y", 1), alone=True)
    assert stranger.frames() == [Refuse("b is being drained", retry=True, stranger=False)]


def test_a_broker_that_a_third_holds_for_its_neighbour_is_no_leaf_any_more() -> None:
    desk, _ = _draining("ann")
    desk.far_end("y", 5).greet()
    assert desk.all(Reply) == [Reply(7, "b is no leaf any more")]


@pytest.mark.parametrize(
    ("neighbours", "error"),
    [
        ((), "b has no neighbour that could take its clients: the last broker cannot be drained"),
        (("m", "n"), "b is no leaf: it is linked with m, n"),
    ],
)
def test_what_cannot_be_drained_is_refused_before_anything_happens(neighbours: tuple[str, ...], error: str) -> None:
    desk = Desk(*neighbours)
    for number, name in enumerate(neighbours):
        desk.linked(name, number + 1)
    desk.give(Drain(7))
    assert desk.all(Reply) == [Reply(7, error)]
    assert desk.broker.sessions.progress()["state"] == "none"


def test_a_broker_that_has_just_given_up_another_waits_for_it_a_while() -> None:
    desk = Desk("n")
    desk.linked("n", 1)
    desk.broker.links.former.give_up("m", desk.now)
    desk.give(Drain(7))
    assert desk.all(Reply) == [Reply(7, "b has just given up m as lost; try again in 20 s")]
    desk.run(21.0)
    desk.give(Drain(8))
    assert desk.broker.sessions.progress()["state"] != "none"


def test_a_broker_that_does_not_know_its_neighbours_yet_is_not_drained() -> None:
    desk = Desk("n")
    desk.give(Drain(7))
    assert desk.all(Reply) == [Reply(7, "b has not heard from all its neighbours yet")]


def test_a_broker_whose_links_change_waits_and_if_that_takes_too_long_it_stays() -> None:
    desk = Desk("n")
    far = desk.linked("n", 1)
    desk.give(AddLink("x", "x:1", 1))
    desk.give(Drain(7))
    assert desk.broker.sessions.progress()["state"] == "waiting"
    assert not any(isinstance(each, Draining) for each in far.heard())
    assert desk.all(Reply) == []
    desk.run(desk.options.overlay.join_s_max)
    assert Reply(7, "a link of b is being changed; try again when that is done") in desk.all(Reply)
    assert not any(isinstance(each, Draining) for each in far.heard())


def test_it_leaves_only_when_all_that_it_sent_is_settled_and_waits_for_a_neighbour_that_is_down() -> None:
    desk = Desk("n")
    far = desk.linked("n", 1)
    desk.give(Drain(7))
    far.say(Welcome("", ""))  # without a word of what it has received
    assert desk.broker.sessions.progress()["state"] == "moving"
    far.ack()
    assert far.heard()[-1] == Leave()
    desk.run(50.0)
    assert desk.all(Ended) == []
    far.redial(9)
    far.greet()
    far.say(Leave())
    far.ack()
    assert desk.all(Ended) == [Ended()]


def test_a_broker_whose_heir_is_lost_stays_and_looks_for_the_others() -> None:
    repair = RepairOptions(lost_s=2.0)
    options = BrokerOptions(founded=True, observe=True, repair=repair)
    cluster = Cluster([("b1", "b2"), ("b2", "b3")], options, NetworkOptions(), "1")
    cluster.start_all()
    cluster.attach("b3", "ann", [A])
    assert cluster.settle(30.0)
    request = cluster.drain("b3")
    cluster.lose("b2")
    assert cluster.settle(60.0)
    assert cluster.replies[request] == "b2, which was to take the clients, is out of reach"
    assert cluster.nodes["b3"].broker.overlay.neighbours() == ["b1"]  # type: ignore[union-attr]
    assert cluster.nodes["b3"].broker.sessions.clients == {"ann": None}  # type: ignore[union-attr]


def test_parts_leave_room_for_events_and_a_session_that_goes_on_is_not_given_up() -> None:
    desk, far = _switched(part_bytes=10, parts_bytes_max=60, move_s_max=5.0)
    far.forget()
    desk.give(Exported("ann", b"x" * 1000))
    parts = [each for each in far.heard() if isinstance(each, Rest)]
    assert 1 <= len(parts) < 20
    while not any(isinstance(each, Rest) and each.last for each in far.heard()):
        desk.run(1.0)
        far.ack()
    assert desk.now > 10.0
    parts = [each for each in far.heard() if isinstance(each, Rest)]
    assert b"".join(each.state for each in parts) == b"x" * 1000
    assert [each.last for each in parts] == [False] * 99 + [True]
    assert not any(isinstance(each, Withdraw) for each in far.heard())


def test_new_clients_are_not_sent_to_a_broker_that_is_down() -> None:
    desk, _ = _draining("ann")
    assert desk.all(Refer) == [Refer("n", "n:1883")]
    desk.give(Lost(1, "cut"))
    desk.run(1.0)
    assert desk.all(Refer)[-1] == Refer("", "")


def test_one_session_that_is_not_taken_does_not_hold_up_the_others() -> None:
    desk, far = _draining("ann", "bob")
    far.say(Opened("ann", 1, "n has her, too", False), Opened("bob", 2, "", False))
    desk.give(Exported("bob", b""))
    far.say(Taken("bob", 2))
    desk.run(2.0)
    assert desk.all(Redirect) == [Redirect("bob", "n", "n:1883")]
    assert desk.all(Reply) == [Reply(7, "n has her, too")]
    assert desk.broker.sessions.progress() == {"state": "failed", "error": "n has her, too"}


def test_a_drain_can_be_stopped_but_not_when_it_leaves() -> None:
    desk, far = _draining("ann")
    desk.give(StopDrain(8))
    assert desk.all(Reply) == [Reply(7, "the drain was stopped"), Reply(8)]
    assert Draining(False) in far.heard()
    desk.give(StopDrain(9))
    assert desk.all(Reply)[-1] == Reply(9, "b is not being drained")
    desk, far = _draining()
    far.ack()
    desk.give(StopDrain(8))
    assert desk.all(Reply)[-1] == Reply(8, "b is leaving already")


def test_a_link_that_was_refused_once_stands_in_nobodys_way() -> None:
    desk = Desk("n")
    far = desk.linked("n", 1)
    desk.broker.overlay.joins.want("x", "x:1", None)
    desk.broker.overlay.joins.wanted["x"].refused = True
    desk.give(Drain(7))
    assert isinstance(far.heard()[-1], Draining)
    desk.run(60.0)
    assert not any(isinstance(each, Seek) for each in far.heard())


def _line() -> Cluster:
    cluster = Cluster([("b1", "b2"), ("b2", "b3")], BrokerOptions(founded=True), NetworkOptions(), "1")
    cluster.start_all()
    cluster.attach("b3", "ann", [A])
    assert cluster.settle(30.0)
    return cluster


@pytest.mark.parametrize("step", range(0, 60, 3))
def test_a_broker_that_dies_while_it_leaves_leaves_in_its_next_life(step: int) -> None:
    cluster = _line()
    cluster.drain("b3")
    while cluster.nodes["b3"].broker.sessions.progress()["state"] != "leaving":  # type: ignore[union-attr]
        cluster.kernel.run(until=cluster.kernel.now + 0.0005)
    cluster.kernel.run(until=cluster.kernel.now + step * 0.0005)
    if cluster.is_alive("b3"):
        cluster.crash("b3")
        cluster.kernel.run(until=cluster.kernel.now + 1.0)
        cluster.start("b3")
    assert cluster.settle(60.0)
    assert cluster.nodes["b3"].gone
    assert cluster.nodes["b2"].broker.overlay.neighbours() == ["b1"]  # type: ignore[union-attr]


def test_the_one_that_stays_remembers_a_drain_as_done_only_if_it_was() -> None:
    cluster = _line()
    for number in range(60):
        cluster.attach("b3", f"c{number}", [A])
    assert cluster.settle(30.0)
    cluster.drain("b3")
    while cluster.nodes["b3"].broker.sessions.progress().get("moved", 0) < 3:  # type: ignore[union-attr]
        cluster.kernel.run(until=cluster.kernel.now + 0.0005)
    cluster.remove_link("b2", "b3")
    assert cluster.settle(60.0)
    (entry,) = cluster.nodes["b2"].broker.overlay.history.shown()  # type: ignore[union-attr]
    assert entry["error"]
    assert entry["undo"] is None
