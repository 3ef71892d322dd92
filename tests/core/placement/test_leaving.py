"""One session leaves a broker of a ring: nothing is lost, doubled or out of order, whoever dies."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from reknit.core.io import Publish, Redirect, Relocate, Reply, Subscribe
from reknit.core.links.custody import Custody
from reknit.core.ring.order import Load
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.clients import EXPORT_S_MAX
from reknit.trace.records import Kind
from tests.core.ring.circles import Ring, grown


def _settled(count: int = 3) -> Ring:
    """Client c is at b1, wants t, and all know it."""
    ring = grown(count)
    ring.wants("b1", "c", "t")
    ring.run(12.0)
    return ring


def _sends(ring: Ring, home: str, client: str, there: str) -> None:
    ring.give(home, Relocate(client, ring.broker(there).ring.me, 99))


def _homes(ring: Ring, client: str) -> list[str]:
    return [name for name in ring.nodes if ring.is_alive(name) and client in ring.broker(name)._clients]


def test_a_session_moves_while_events_flow_and_gets_each_once_and_in_order() -> None:
    ring = _settled()
    for number in range(60):
        if number == 20:
            _sends(ring, "b1", "c", "b2")
        ring.says("b3", "t", str(number))
        ring.run(0.02)
    ring.run(15.0)
    assert ring.had("c") == [str(number) for number in range(60)]
    assert (_homes(ring, "c"), ring.replies[99]) == (["b2"], "")
    assert [record.peer for record in ring.records if record.kind is Kind.MOVED_OUT] == ["b2"]
    assert "t" not in ring.broker("b1").ring.plane.member.trees.wanted


def test_what_comes_to_the_old_broker_alone_is_passed_on() -> None:
    """It left its root before the tree led to the new broker."""
    ring = _settled()
    _sends(ring, "b1", "c", "b2")
    ring.run(2.0)
    assert ring.broker("b1").placement.leaving.busy
    _comes(ring, "b1", 4)
    ring.run(1.0)
    assert ring.had("c") == ["4"]


def _comes(ring: Ring, name: str, number: int) -> None:
    """An event that nobody else gets."""
    broker = ring.broker(name)
    broker.turn.now, broker.turn.effects = ring.kernel.now, []
    broker.ring._arrive(Load(Event("t", str(number).encode(), source="b9.1", seq=number), 0, [Custody(None, 0, [])]))
    list(broker.sessions.end_of_turn(True))
    broker.links.flush()
    for effect in broker.turn.effects:
        ring._perform(name, effect)


def _crowd(ring: Ring, full: bool) -> None:
    """From b1 to b2."""
    link = ring.broker("b1").links.of["b2"]
    link.options = replace(link.options, outbox_bytes_max=0 if full else 1_000_000)


def test_what_there_is_no_room_for_is_passed_on_later() -> None:
    ring = _settled()
    _sends(ring, "b1", "c", "b2")
    ring.run(2.0)
    assert ring.count(Kind.MOVED_OUT)
    _crowd(ring, True)
    _comes(ring, "b1", 4)
    _crowd(ring, False)
    _comes(ring, "b1", 5)
    ring.run(2.0)
    assert ring.had("c") == ["4", "5"]
    ring.run(15.0)
    assert not ring.broker("b1").placement.leaving.busy
    assert not ring.broker("b2").placement.arriving.busy
    assert ring.broker("b1").placement.shown()["not_passed"] == 0


def test_what_there_is_no_room_for_when_the_other_broker_is_lost_is_counted() -> None:
    ring = _settled()
    _sends(ring, "b1", "c", "b2")
    ring.run(2.0)
    _crowd(ring, True)
    _comes(ring, "b1", 4)
    ring.lose("b2")
    ring.run(8.0)
    assert ring.broker("b1").placement.shown()["not_passed"] == 1
    assert not ring.broker("b1").placement.leaving.busy


def test_without_room_on_the_way_a_session_stays_and_nothing_is_lost() -> None:
    ring = _settled()
    _sends(ring, "b1", "c", "b2")
    while not ring.broker("b1").placement.leaving._going["c"].switched:
        ring.run(0.001)
    _crowd(ring, True)
    _comes(ring, "b1", 4)
    _crowd(ring, False)
    ring.run(15.0)
    assert (_homes(ring, "c"), ring.replies[99]) == (["b1"], "there is no room on the way to b2")
    assert ring.count(Kind.MOVED_OUT) == 0


def test_who_is_lost_is_not_called_again() -> None:
    ring = _settled()
    _sends(ring, "b1", "c", "b2")
    broker = ring.broker("b1")
    broker.turn.now, broker.turn.effects = ring.kernel.now, []
    broker.ring.peers.drop("b2")
    broker.placement.lost("b2")
    assert "b2" not in broker.links.of
    assert not broker.placement.leaving.moves("c")


def test_its_own_events_stay_in_order_though_it_publishes_at_two_brokers() -> None:
    ring = _settled()
    ring.wants("b3", "d", "u")
    ring.run(12.0)
    _sends(ring, "b1", "c", "b2")
    for number in range(80):
        home = next((name for name in ("b1", "b2") if ring.clients.is_served(name, "c")), "")
        if home:
            ring.give(home, Publish("c", (Event("u", str(number).encode()),)))
        ring.run(0.01)
    ring.run(12.0)
    had = [int(each) for each in ring.had("d")]
    assert had == sorted(had)
    assert len(had) > 60
    assert _homes(ring, "c") == ["b2"]


@pytest.mark.parametrize("victim", ["b1", "b2"])
@pytest.mark.parametrize("after_s", [0.01, 0.05, 0.1, 0.15])
def test_whoever_of_the_two_dies_the_session_is_at_one_of_them_or_gone_with_its_broker(
    victim: str, after_s: float
) -> None:
    ring = _settled()
    _sends(ring, "b1", "c", "b2")
    ring.run(after_s)
    ring.crash(victim)
    ring.run(25.0)
    ring.says("b3", "t", "later")
    ring.run(2.0)
    moved, came = ring.count(Kind.MOVED_OUT), ring.count(Kind.MOVED_IN)
    if victim == "b2":
        assert _homes(ring, "c") == ([] if moved else ["b1"])
    else:
        assert _homes(ring, "c") == (["b2"] if came else [])
    assert ring.had("c") == ["later"] * len(_homes(ring, "c"))


@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.1, 0.5])
def test_what_is_under_way_when_the_old_broker_dies_behind_a_session_still_comes(after_s: float) -> None:
    """Events overtake each other then, and the new broker is new to the topic."""
    ring = _settled(5)
    _sends(ring, "b1", "c", "b2")
    for number in range(200):
        ring.says("b3", "t", str(number))
        ring.run(0.005)
        if ring.is_alive("b1") and any(
            record.kind is Kind.MOVED_OUT and record.time + after_s <= ring.kernel.now for record in ring.records
        ):
            ring.lose("b1")
    ring.run(40.0)
    assert not ring.is_alive("b1")
    assert (_homes(ring, "c"), ring.had("c")) == (["b2"], [str(number) for number in range(200)])


def test_a_change_of_what_it_wants_takes_it_back() -> None:
    ring = _settled()
    _sends(ring, "b1", "c", "b2")
    ring.run(EXPORT_S_MAX / 2)
    ring.give("b1", Subscribe("c", (Pattern.parse("u"),)))
    ring.run(15.0)
    assert (_homes(ring, "c"), ring.replies[99]) == (["b1"], "c has asked for something else")
    ring.says("b3", "u", "one")
    ring.run(1.0)
    assert ring.had("c") == ["one"]


def test_what_cannot_move_is_refused_with_the_reason() -> None:
    ring = grown(2)
    ring.wants("b1", "c", "t")
    there = ring.broker("b2").ring.me
    for client, spot in (("d", there), ("c", ring.broker("b1").ring.me), ("c", there)):
        ring.give("b1", Relocate(client, spot, 1))
        ring.replies[len(ring.replies) + 10] = ring.replies[1]
    ring.join("b1", "c", "g", Pattern.parse("x"))
    ring.give("b1", Relocate("c", there, 2))
    assert ring.replies == {
        1: "what c wants has not settled yet",
        11: "b1 has no session of d",
        12: "c is at b1 already",
        13: "what c wants has not settled yet",
        2: "c is a member of a group, and on a ring such a session does not move",
    }


def test_a_broker_that_does_not_answer_costs_nothing() -> None:
    ring = _settled()
    ring.pause("b2")
    _sends(ring, "b1", "c", "b2")
    ring.run(1.0)
    ring.says("b3", "t", "meanwhile")
    ring.run(6.0)
    assert ring.replies[99].startswith("b2 ")
    ring.resume("b2")
    ring.run(25.0)
    assert (ring.had("c"), _homes(ring, "c")) == (["meanwhile"], ["b1"])


def test_a_client_is_told_where_to_go() -> None:
    ring = _settled(2)
    seen: list[Redirect | Reply] = []
    perform = ring._perform

    def watch(name: str, effect: object) -> None:
        if isinstance(effect, Redirect):
            seen.append(effect)
        perform(name, effect)  # type: ignore[arg-type]

    ring._perform = watch  # type: ignore[method-assign, assignment]
    ring.broker("b2").placement.arriving.door = "host:1884"
    _sends(ring, "b1", "c", "b2")
    ring.run(2.0)
    assert seen == [Redirect("c", "b2", "host:1884")]
