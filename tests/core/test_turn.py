"""A turn: effects in their order, and all observations of it in one effect at its end."""

from __future__ import annotations

from reknit.core.io import Close, Deliver, Observe
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.trace.passage import Passage, Seen
from reknit.trace.records import Kind, Record


def test_observations_come_last_and_together() -> None:
    turn = Turn("b", observing=True)
    turn.now = 2.5
    turn.see(Kind.LINK_UP, peer="n")
    turn.effects.append(Close(1, "done"))
    turn.see(Kind.LINK_DOWN, peer="n", detail="done")
    assert turn.end() == [
        Close(1, "done"),
        Observe([Record(2.5, "b", Kind.LINK_UP, peer="n"), Record(2.5, "b", Kind.LINK_DOWN, peer="n", detail="done")]),
    ]


def test_what_was_seen_is_given_once() -> None:
    turn = Turn("b", observing=True)
    turn.see(Kind.LINK_UP, peer="n")
    turn.end()
    turn.effects = []
    assert turn.end() == []


def test_nothing_is_seen_where_nobody_looks() -> None:
    turn = Turn("b", observing=False)
    turn.see(Kind.LINK_UP, peer="n")
    assert turn.end() == []


# --- passages


def _events(*seqs: int) -> list[Event]:
    return [Event("t", source="b.1", seq=seq) for seq in seqs]


def _delivered(event: Event, *clients: str) -> Deliver:
    return Deliver(event, tuple((name, ()) for name in clients))


def _seen(turn: Turn) -> list[Seen]:
    (observe,) = (each for each in turn.end() if isinstance(each, Observe))
    return observe.seen


def test_what_one_input_does_with_its_events_is_one_passage() -> None:
    turn = Turn("b", observing=True)
    events = one, two, three = _events(7, 8, 9)
    turn.published("ann", events)
    turn.forwarded(two, "n")
    turn.forwarded(two, "m")
    turn.effects += [_delivered(one, "bob", "cay"), _delivered(three, "bob")]
    turn.settled(events)
    clients = [("bob", "cay"), (), ("bob",)]
    assert _seen(turn) == [Passage(0.0, "b", "ann", events, clients, [(), ("n", "m")], settled=True)]


def test_where_every_event_is_delivered_each_has_its_own_clients() -> None:
    turn = Turn("b", observing=True)
    events = _events(7, 8)
    turn.published("ann", events)
    turn.effects += [_delivered(events[0], "bob"), _delivered(events[1], "cay")]
    assert _seen(turn) == [Passage(0.0, "b", "ann", events, [("bob",), ("cay",)])]


def test_events_from_elsewhere_are_not_taken_for_those_published_in_the_turn() -> None:
    """The gate may open in a turn in which something was published: then earlier events go on."""
    turn = Turn("b", observing=True)
    held, new = _events(7, 8)
    turn.published("ann", [new])
    turn.forwarded(held, "n")
    turn.effects += [_delivered(held, "bob")]
    assert _seen(turn) == [
        Passage(0.0, "b", "ann", [new]),
        Passage(0.0, "b", None, [held], [], [("n",)]),
        Passage(0.0, "b", None, [held], [("bob",)]),
    ]


def test_something_else_between_two_forwards_keeps_its_place() -> None:
    turn = Turn("b", observing=True)
    one, two = _events(1, 2)
    turn.forwarded(one, "n")
    turn.see(Kind.DROPPED, peer="m", event=one)
    turn.forwarded(two, "n")
    assert [record.kind for record in Observe(_seen(turn)).records] == [Kind.FORWARDED, Kind.DROPPED, Kind.FORWARDED]


def test_what_settles_in_a_later_turn_is_told_then() -> None:
    turn = Turn("b", observing=True)
    events = _events(1, 2)
    turn.published("ann", events)
    turn.end()
    turn.effects, turn.now = [], 1.0
    turn.settled(events)
    assert _seen(turn) == [Passage(1.0, "b", None, events, settled=True)]


def test_what_has_to_stand_before_something_else_is_noted_at_once_and_once() -> None:
    turn = Turn("b", observing=True)
    one, two = _events(7, 8)
    turn.effects.append(_delivered(one, "ann"))
    turn.note_deliveries()
    turn.see(Kind.DETACHED, client="ann")
    turn.effects.insert(0, Close(1, "done"))
    turn.effects.append(_delivered(two, "bob"))
    before, between, behind = _seen(turn)
    assert isinstance(before, Passage)
    assert isinstance(behind, Passage)
    assert (before.events, before.clients) == ([one], [("ann",)])
    assert isinstance(between, Record)
    assert (behind.events, behind.clients) == ([two], [("bob",)])
    turn.effects = [_delivered(one, "ann")]
    assert len(_seen(turn)) == 1


def test_what_had_waited_and_comes_between_is_not_taken_for_one_of_the_turn() -> None:
    turn = Turn("b", observing=True)
    one, two, three = events = _events(7, 8, 9)
    [older] = _events(3)
    turn.published("p", events)
    turn.effects += [_delivered(one, "ann"), _delivered(older, "cid"), _delivered(three, "ann")]
    first, second = (each for each in _seen(turn) if isinstance(each, Passage))
    assert (first.clients, second.events, second.clients) == ([("ann",), (), ("ann",)], [older], [("cid",)])
    assert two in first.events
