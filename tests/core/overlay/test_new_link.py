"""New links wait outside the tree: they carry talk about the change, and no events."""

from __future__ import annotations

from reknit.core.overlay.change import make_change
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.messages import Hello, Prepare, Refuse, Snapshot, Sub
from tests.core.desk import Desk
from tests.sim.heard import Stage

P = Pattern.parse("p")
CHANGE = make_change("c", "path", ["a", "c"], ["d", "b"])


def _waiting() -> Desk:
    desk = Desk("x", name="d")
    desk.linked("x", 1)
    desk.appear("c", CHANGE)
    return desk


def test_a_new_link_is_no_neighbour_and_is_not_remembered() -> None:
    desk = _waiting()
    far = desk.far_end("c", 2)
    answer = far.greet(linked=False)
    assert answer is not None
    assert not answer.linked
    assert desk.broker.overlay.neighbours() == ["x"]
    assert list(desk.broker.table()["neighbours"]) == ["x"]
    assert "c" not in desk.broker.links.remembered()
    assert [record.peer for record in desk.records(Kind.LINK_ADDED)] == ["x"]


def test_no_event_is_sent_over_it() -> None:
    desk = _waiting()
    far = desk.far_end("c", 2)
    far.greet(linked=False)
    far.say(Sub([P]))
    desk.publish(Event("p"))
    assert far.heard() == []


def test_a_caller_that_tells_all_that_it_wants_has_made_it_a_link() -> None:
    """It was restarted, say, and remembers the link as one of the tree."""
    desk = _waiting()
    far = desk.far_end("c", 2)
    far.greet(linked=False)
    far.say(Snapshot([("", [P])], last=True))
    assert desk.broker.overlay.neighbours() == ["x", "c"]
    assert any(isinstance(each, Snapshot) for each in far.heard())
    assert desk.routes() == [("c", "p")]


def test_a_broker_that_is_busy_takes_no_new_link() -> None:
    desk = Desk("x", name="d")
    desk.linked("x", 1)
    desk.broker.overlay.search.reserved = "d is busy"
    far = desk.far_end("c", 2)
    far.send(far.hello(linked=False, wave=("c", 0)))
    assert far.frames() == [Refuse("d is busy", retry=True, stranger=False)]


def test_one_that_was_dialled_for_a_change_that_does_not_come_is_given_up() -> None:
    desk = Desk("x", name="d", overlay={"lease_s": 2.0})
    desk.linked("x", 1)
    far = desk.far_end("c", 2)
    far.send(far.hello(linked=False, wave=("c", 0)))
    assert isinstance(far.frames()[0], Hello)
    assert "c" in desk.broker.links.of
    desk.run(3.0)
    assert "c" not in desk.broker.links.of
    assert far.closed == "the change has not come in time"
    assert desk.records(Kind.LINK_REMOVED) == []  # it never was one


def test_what_was_wanted_over_it_goes_with_it() -> None:
    desk = Desk("x", name="d", overlay={"lease_s": 2.0})
    x = desk.linked("x", 1)
    far = desk.far_end("c", 2)
    far.send(far.hello(linked=False, wave=("c", 0)))
    far.session = next(frame.session for frame in far.frames() if isinstance(frame, Hello))
    far.say(Sub([P]))
    assert desk.routes() == [("c", "p")]
    x.forget()
    desk.run(3.0)
    assert desk.routes() == []
    assert [type(each).__name__ for each in x.heard()] == ["Unsub"]


def test_a_connection_that_breaks_while_the_path_is_walked_is_mended() -> None:
    stage = Stage("a-b a-c b-d", {"d": [P]})
    request = stage.planned("path", "a c", "d b")
    stage.wait(0.065)
    assert stage.words(Prepare)[-1][:2] == ("c", "d")
    assert stage.network.break_connection("c", "d")
    stage.rest()
    assert stage.replies[request] == ""
    assert stage.edges() == [("a", "c"), ("b", "d"), ("c", "d")]
    assert stage.wrong() == []
