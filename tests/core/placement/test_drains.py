"""A broker leaves a ring with clients: it ends, or the operator hears why not, and may think better of it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from msgspec.structs import replace

from reknit.core.io import Attach, Refer, Relocate, StopDrain
from reknit.core.sessions.options import SessionOptions
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.messages import Offer, Opened
from tests.core.ring.circles import Ring


def _ring(count: int, **sessions: Any) -> Ring:
    """Each broker has a client; those of b1 are c1 and d1."""
    ring = Ring()
    ring.options = replace(ring.options, sessions=SessionOptions(**sessions))
    for number in range(1, count + 1):
        ring.come(f"b{number}", *(["b1"] if number > 1 else []))
    ring.run(15.0)
    for number in range(1, count + 1):
        ring.wants(f"b{number}", f"c{number}", f"t{number}")
    ring.wants("b1", "d1", "u")
    ring.run(15.0)
    return ring


def _heir(ring: Ring, name: str) -> str:
    return ring.broker(name).ring.plane.member.chord.successor[1]


def _watch(ring: Ring) -> list[tuple[str, Refer]]:
    """Where new clients are sent."""
    seen: list[tuple[str, Refer]] = []
    perform = ring._perform

    def watch(name: str, effect: Any) -> None:
        if isinstance(effect, Refer):
            seen.append((name, effect))
        perform(name, effect)

    ring._perform = watch  # type: ignore[method-assign]
    return seen


@pytest.mark.parametrize("count", [2, 3, 4])
def test_of_all_that_leave_at_once_one_stays_and_says_why(count: int) -> None:
    ring = _ring(count)
    asked = {name: ring.drain(name) for name in list(ring.nodes)}
    ring.run(120.0)
    [last] = [name for name in asked if ring.is_alive(name)]
    assert all(ring.replies[request] == "" for name, request in asked.items() if name != last)
    assert "is leaving, too" in ring.replies[asked[last]]
    assert len(ring.broker(last)._clients) == count + 1


def test_a_broker_whose_heir_is_full_stays_and_says_why() -> None:
    ring = _ring(2, sessions_max=2)
    asked = ring.drain("b1")
    ring.run(10.0)
    assert ring.replies[asked] == "b2: b2 has 2 sessions, and takes no more"
    ring.run(10.0)
    assert ring.broker("b1").deadline() != 0.0
    assert ring.is_alive("b1")


def test_a_drain_can_be_stopped() -> None:
    ring = _ring(3)
    ring.pause(_heir(ring, "b1"))
    asked = ring.drain("b1")
    ring.run(1.0)
    ring.give("b1", StopDrain(71))
    assert (ring.replies[asked], ring.replies[71]) == ("the drain was stopped", "")
    ring.give("b1", StopDrain(72))
    assert ring.replies[72] == "b1 is not being drained"
    ring.resume(_heir(ring, "b1"))
    ring.run(30.0)
    assert sorted(ring.broker("b1")._clients) == ["c1", "d1"]


def test_who_has_left_the_ring_cannot_be_stopped() -> None:
    ring = _ring(2)
    ring.drain("b1")
    while ring.broker("b1")._left_at is None:
        ring.run(0.01)
    ring.give("b1", StopDrain(71))
    assert ring.replies[71] == "b1 is leaving already"


def test_new_clients_are_sent_to_the_heir_wherever_others_have_gone_before() -> None:
    ring = _ring(3)
    heir = _heir(ring, "b1")
    other = next(name for name in ("b2", "b3") if name != heir)
    for name in (heir, other):
        ring.broker(name).placement.arriving.door = f"{name}:1883"
    ring.give("b1", Relocate("d1", ring.broker(other).ring.me))
    ring.run(15.0)
    assert ring.count(Kind.MOVED_OUT) == 1
    seen = _watch(ring)
    ring.wants("b1", "e1", "v")  # it cannot go yet
    ring.drain("b1")
    ring.run(30.0)
    assert seen == [("b1", Refer(heir, f"{heir}:1883"))]


def test_where_a_member_of_a_group_is_nobody_is_sent_away() -> None:
    ring = _ring(2)
    ring.join("b1", "d1", "g", Pattern.parse("x"))  # the last of its clients
    asked = ring.drain("b1")
    ring.run(10.0)
    assert ring.replies[asked].startswith("d1 is a member of a group")
    assert not ring.broker("b1").placement.leaving._outcomes


def test_no_more_come_at_once_than_there_is_room_for() -> None:
    ring = _ring(2, moves_max=1)
    broker = ring.broker("b2")
    answers: list[Opened] = []
    arriving = broker.placement.arriving
    arriving.send = lambda peer, message: answers.append(message) if isinstance(message, Opened) else None
    broker.turn.now, broker.turn.effects = ring.kernel.now, []
    for number in itertools.count(1):
        arriving.on_offer("b1", Offer(f"x{number}", number, 0, [], True))
        if answers:
            break
    assert (len(arriving.of), answers[0].retry) == (4, True)
    assert answers[0].refused == "b2 is taking 4 sessions over, and no more at once"


def test_a_client_that_comes_while_its_broker_leaves_moves_as_the_others_do() -> None:
    ring = _ring(2)
    asked = ring.drain("b1")
    ring.give("b1", Attach("late"))
    ring.run(40.0)
    assert ring.replies[asked] == ""
    assert "late" in ring.broker("b2")._clients
