"""Sessions that move: one that is lost, doubled, or sent back and forth is seen."""

from __future__ import annotations

from reknit.model.event import Event
from reknit.sim.checkers.order import check_order_by_topic
from reknit.sim.checkers.placing import check_placing
from reknit.trace.records import PLACED_BETTER, Kind, Record


def _told(*steps: tuple[float, str, Kind] | tuple[float, str, Kind, str]) -> list[Record]:
    """Times, brokers, what they do with client c, and the other broker."""
    found = []
    for time, node, kind, *peer in steps:
        client = "" if kind in (Kind.CRASHED, Kind.CALM) else "c"
        detail = PLACED_BETTER if kind is Kind.CHANGE else ""
        found.append(Record(time, node, kind, client=client, peer=peer[0] if peer else "", detail=detail))
    return found


BEGUN = (0.0, "b1", Kind.ATTACHED)
MOVED = ((1.0, "b2", Kind.MOVED_IN, "b1"), (1.1, "b1", Kind.MOVED_OUT, "b2"), (1.1, "b1", Kind.DETACHED))
CALM = (9.0, "", Kind.CALM)


def _found(*steps: tuple[float, str, Kind] | tuple[float, str, Kind, str]) -> list[str]:
    return [each.what for each in check_placing(_told(*steps), 5.0)]


def test_a_session_that_moves_is_at_one_broker() -> None:
    assert _found(BEGUN, *MOVED, CALM) == []


def test_one_that_is_sent_where_nothing_has_come_is_lost() -> None:
    assert _found(BEGUN, *MOVED[1:], CALM) == ["b1 has sent c to b2, which has no session"]


def test_unless_its_new_broker_has_died() -> None:
    assert _found(BEGUN, MOVED[0], (1.05, "b2", Kind.CRASHED), *MOVED[1:], CALM) == []


def test_two_sessions_of_one_client_are_one_too_many_when_all_is_calm() -> None:
    assert _found(BEGUN, MOVED[0], CALM) == ["c has sessions at b1 and b2"]


def test_who_is_sent_on_too_soon_goes_back_and_forth() -> None:
    first = (0.5, "b1", Kind.CHANGE, "b2")
    assert _found(BEGUN, first, *MOVED, (7.0, "b2", Kind.CHANGE, "b1")) == []
    [what] = _found(BEGUN, first, *MOVED, (3.0, "b2", Kind.CHANGE, "b1"))
    assert what == "b2 sends c to b1 2.00 s after it was sent there itself"
    assert _found(BEGUN, *MOVED, (3.0, "b2", Kind.CHANGE, "b1")) == []  # an operator had sent it


def _event(source: str, seq: int) -> Event:
    return Event("t", source=source, seq=seq)


def _seen(node: str, kind: Kind, client: str, event: Event | None = None, peer: str = "") -> Record:
    return Record(1.0, node, kind, client=client, event=event, peer=peer)


def test_order_goes_along_with_a_session() -> None:
    one, two = _event("s.1", 1), _event("s.1", 2)
    moves = [_seen("b1", Kind.MOVING, "c", peer="b2"), _seen("b2", Kind.MOVED_IN, "c", peer="b1")]
    said = [_seen("b1", Kind.DELIVERED, "c", two), *moves, _seen("b2", Kind.DELIVERED, "c", one)]
    [found] = check_order_by_topic(said)
    assert found.what.startswith("not FIFO: c at b2 saw ('s.1', 1) behind number 2 of s.1")


def test_a_publisher_that_moves_has_one_order() -> None:
    one, two = _event("b1.1", 1), _event("b2.1", 1)
    said = [_seen("b1", Kind.PUBLISHED, "p", one), _seen("b2", Kind.PUBLISHED, "p", two)]
    late = [_seen("b3", Kind.DELIVERED, "c", two), _seen("b3", Kind.DELIVERED, "c", one)]
    [found] = check_order_by_topic([*said, *late])
    assert "of p, life 0 in t" in found.what
    begun = [said[0], _seen("b2", Kind.ATTACHED, "p"), said[1]]
    assert list(check_order_by_topic([*begun, *late])) == []
