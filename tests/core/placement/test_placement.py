"""Placement by interest: a client moves where others want the same, once, and stays."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from reknit.core.io import Attach, Subscribe
from reknit.core.placement.options import PlacementOptions
from reknit.core.placement.placement import LOOKS_MAX, Looks
from reknit.core.sessions.options import SessionOptions
from reknit.model.pattern import Pattern
from reknit.trace.records import PLACED_BETTER, Kind
from tests.core.ring.circles import Ring


def _ring(count: int, **options: Any) -> Ring:
    ring = Ring()
    settings: dict[str, Any] = {"update_s": 1.0, "settle_s": 0.5, "stay_s": 30.0, "load_weight": 0.1} | options
    ring.options = replace(ring.options, placement=PlacementOptions(**settings))
    for number in range(1, count + 1):
        ring.come(f"b{number}", *(["b1"] if number > 1 else []))
    ring.run(15.0)
    return ring


def _home(ring: Ring, client: str) -> list[str]:
    return [name for name in ring.nodes if client in ring.broker(name)._clients]


def _sent(ring: Ring) -> list[tuple[str, str]]:
    found = [each for each in ring.records if each.kind is Kind.CHANGE and each.detail == PLACED_BETTER]
    return [(each.client, each.peer) for each in found]


def test_a_client_moves_to_the_broker_that_wants_the_same_and_misses_nothing() -> None:
    ring = _ring(3)
    ring.wants("b2", "d", "t", "u", "v")
    ring.run(3.0)
    ring.wants("b1", "c", "t", "u")
    for number in range(120):
        ring.run(0.2)
        if number >= 60:  # what it wants has settled
            ring.says("b3", "t", str(number))
    ring.run(15.0)
    assert (_home(ring, "c"), _sent(ring)) == (["b2"], [("c", "b2")])
    assert ring.had("c") == [str(number) for number in range(60, 120)]


def test_nobody_moves_where_it_is_no_better_or_where_placement_is_off() -> None:
    for options in ({"gain_min": 2.0}, {"load_weight": 50.0}, {"update_s": 0.0}):
        ring = _ring(2, **options)
        ring.wants("b2", "d", "t", "u", "v")
        ring.wants("b1", "c", "t")
        ring.run(20.0)
        assert (_home(ring, "c"), _sent(ring)) == (["b1"], [])


def test_who_has_moved_stays_though_it_would_be_better_off_elsewhere() -> None:
    ring = _ring(3)
    ring.wants("b2", "d", "t", "u")
    ring.wants("b3", "e", "x", "y", "z")
    ring.run(3.0)
    ring.wants("b1", "c", "t", "u")
    ring.run(20.0)
    assert _home(ring, "c") == ["b2"]
    ring.give("b2", Subscribe("c", tuple(map(Pattern.parse, ("x", "y", "z")))))
    ring.run(8.0)
    assert _home(ring, "c") == ["b2"]
    ring.run(60.0)
    assert _sent(ring)[0] == ("c", "b2")
    assert len(_sent(ring)) <= 2


def test_topics_that_it_has_brought_itself_keep_it_where_it_is() -> None:
    """As in the paper; without them counted it goes."""
    for own_topics, home in ((True, "b1"), (False, "b2")):
        ring = _ring(2, own_topics=own_topics, load_weight=0.0)
        ring.wants("b1", "c", "t", "u")
        ring.wants("b2", "d", "w", "x")
        ring.run(15.0)
        ring.give("b1", Subscribe("c", tuple(map(Pattern.parse, ("w", "x")))))
        ring.run(25.0)
        assert _home(ring, "c") == [home]


def test_a_broker_that_leaves_sends_its_clients_to_the_next() -> None:
    ring = _ring(3, update_s=0.0)
    ring.wants("b1", "c", "t")
    ring.wants("b1", "d", "u")
    ring.run(12.0)
    asked = ring.drain("b1")
    for number in range(50):
        ring.run(0.2)
        ring.says("b3" if number % 2 else "b2", "t", str(number))
    ring.run(20.0)
    assert (ring.replies[asked], ring.nodes["b1"].gone) == ("", True)
    assert sorted(map(int, ring.had("c"))) == list(range(50))
    homes = [name for name in ("b2", "b3") if {"c", "d"} <= ring.broker(name)._clients.keys()]
    assert len(homes) == 1


def test_the_last_broker_and_members_of_groups_stay() -> None:
    ring = _ring(1)
    ring.wants("b1", "c", "t")
    asked = ring.drain("b1")
    ring.run(1.0)
    assert ring.replies[asked].startswith("b1 has no other broker that could take its clients")
    ring = _ring(2)
    ring.wants("b1", "c", "t")
    ring.join("b1", "c", "g", Pattern.parse("x"))
    asked = ring.drain("b1")
    ring.run(1.0)
    assert ring.replies[asked].startswith("c is a member of a group")
    assert ring.is_alive("b1")


def test_many_that_are_to_be_looked_at_are_no_long_turn() -> None:
    """After a restart all clients come within a second. What is wanted here is looked up once for many of them."""
    ring = _ring(2, settle_s=1000.0)
    broker, count = ring.broker("b1"), LOOKS_MAX + 10
    for number in range(count):
        ring.wants("b1", f"c{number}", f"t{number % 5}")
    ring.run(15.0)
    placement, lookups = broker.placement, 0
    wanted = placement.interests.wanted

    def watch() -> tuple[list[str], int]:
        nonlocal lookups
        lookups += 1
        return wanted()

    broker.turn.now, broker.turn.effects = ring.kernel.now, []
    placement.interests.wanted, placement.interests._tell_at = watch, ring.kernel.now + 10.0
    for number in range(count):
        placement._looks.set(f"c{number}", ring.kernel.now)
    placement.due()
    assert (lookups, len(placement._looks.at)) == (1, 10)
    at = placement.deadline()
    assert at is not None
    assert at <= ring.kernel.now  # the others are next


@given(st.lists(st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 9)))), st.integers(0, 9))
def test_of_each_client_the_last_time_counts(words: list[tuple[str, int | None]], now: int) -> None:
    looks, times = Looks(), dict[str, float]()
    for client, at in words:
        if at is None:
            looks.cancel(client)
            times.pop(client, None)
        else:
            looks.set(client, at)
            times[client] = at
        assert looks.first() == min(times.values(), default=None)
    due = {client: at for client, at in times.items() if at <= now}
    taken = looks.take(now)
    assert sorted(taken) == sorted(due)
    assert [due[client] for client in taken] == sorted(due.values())
    assert looks.first() == min((at for at in times.values() if at > now), default=None)


def test_no_more_move_at_once_than_may() -> None:
    ring = Ring()
    placing = PlacementOptions(update_s=1.0, settle_s=0.5, stay_s=1.0, load_weight=0.0)
    ring.options = replace(ring.options, placement=placing, sessions=SessionOptions(moves_max=1))
    for number in (1, 2):
        ring.come(f"b{number}", *(["b1"] if number > 1 else []))
    ring.run(15.0)
    ring.wants("b2", "d", "t0", "t1", "t2", "t3")
    ring.run(12.0)
    for number in range(4):
        ring.wants("b1", f"c{number}", f"t{number}")
    most = 0
    for _ in range(2500):
        ring.run(0.01)
        most = max(most, len(ring.broker("b1").placement.leaving.under_way()))
    assert most == 1
    assert all(_home(ring, f"c{number}") == ["b2"] for number in range(4))


def test_who_has_come_back_with_an_older_protocol_is_not_sent_away() -> None:
    """It could not be told where to go."""
    ring = _ring(2, settle_s=15.0)
    ring.wants("b2", "d", "t", "u")
    ring.run(30.0)
    ring.wants("b1", "c", "t", "u")
    ring.run(5.0)
    ring.give("b1", Attach("c", follows=False))
    ring.run(60.0)
    assert (_home(ring, "c"), _sent(ring)) == (["b1"], [])
