"""The path strategy where the paper is silent: late messages, brokers that die, times that run out (errata, row 16)."""

from __future__ import annotations

from reknit.core.overlay.change import make_change
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.messages import Ctrl, Rec, Snapshot, Sub, Unsub
from tests.core.desk import Desk
from tests.sim.heard import Stage

P, Q = Pattern.parse("p"), Pattern.parse("q")
MANY = [Pattern.parse(f"p{number}") for number in range(150)]
TREE = "A-B A-E E-F F-C F-X D-G G-B"
HEAD, TAIL = "A E F C", "D G B"


def test_the_end_of_a_lost_link_that_hears_nothing_removes_it_plainly() -> None:
    stage = Stage(TREE, {"E": [P], "D": [Q]}, rec_s_max=1.0)
    stage.unplanned("path", HEAD, TAIL)
    stage.wait(0.9)
    assert stage.words() == []
    assert ("A", "p") in stage.entries("B")
    stage.wait(0.5)
    assert stage.wrong() == []


def test_a_new_link_that_nobody_comes_for_is_used_plainly() -> None:
    stage = Stage(TREE, {"E": [P], "D": [Q]}, rec_s_max=1.0)
    change = stage.unplanned("path", HEAD, TAIL)
    stage.wait(0.1)
    stage.appear(change)
    stage.wait(0.5)
    assert ("C", "D") not in stage.edges()
    stage.rest()
    assert ("C", "D") in stage.edges()
    assert stage.wrong() == []


def test_a_walk_that_comes_too_late_leaves_the_tables_right() -> None:
    """B has removed A, and C and D have used their link plainly, when the first Rec is sent."""
    stage = Stage(TREE, {"E": [P], "D": [P, Q]}, rec_s_max=0.5)
    change = stage.unplanned("path", HEAD, TAIL)
    stage.appear(change)
    stage.wait(2.0)
    stage.substitute(change)
    stage.rest()
    assert stage.wrong() == []


def test_no_event_crosses_the_new_link_before_the_walk_has_come() -> None:
    stage = Stage(TREE, {"E": [P], "D": [P], "G": [P]})
    change = stage.unplanned("path", HEAD, TAIL)
    stage.appear(change)
    stage.wait(0.1)
    stage.publish("C", "pam", Event("p"))
    stage.publish("D", "pam", Event("p"))
    stage.wait(0.1)
    crossed = [each for each in stage.records if each.kind is Kind.FORWARDED and {each.node, each.peer} == {"C", "D"}]
    assert crossed == []
    stage.substitute(change)
    stage.rest()


def test_many_patterns_travel_in_parts() -> None:
    stage = Stage(TREE, {"E": MANY[:100], "D": MANY[50:]})
    change = stage.unplanned("path", HEAD, TAIL)
    stage.come(change)
    stage.rest()
    assert stage.wrong() == []
    assert sum(not each.last for _, _, each in stage.words(Rec) if isinstance(each, Rec)) > 0


def test_unsubscriptions_are_heeded_again_when_no_acknowledgement_comes_and_a_late_one_puts_it_right() -> None:
    """The neighbour counts on what it was asked for from the moment at which it has handled the Rec."""
    desk = Desk("b", "e", name="a", changes={"ctrl_s_max": 1.0})
    desk.linked("b", 1, P)
    e = desk.linked("e", 2, P)
    change = make_change("c", "path", ["a", "e"], ["d", "b"])
    desk.vanish("b", change)
    desk.substitute(change)
    e.say(Unsub([P]))
    assert desk.routes() == [("e", "p")]  # ignored
    desk.run(1.5)
    e.say(Unsub([P]))
    assert desk.routes() == []
    e.say(Ctrl("c"))
    assert desk.routes() == [("e", "p")]
    e.say(Unsub([P]))
    assert desk.routes() == []


def test_an_acknowledgement_ends_the_ignoring_of_its_own_change_only() -> None:
    """Errata, row 9: the key is neighbour, pattern and change."""
    desk = Desk("b", "e", name="a")
    desk.linked("b", 1, P)
    e = desk.linked("e", 2)
    change = make_change("c", "path", ["a", "e"], ["d", "b"])
    desk.vanish("b", change)
    desk.substitute(change)
    e.say(Ctrl("another"))
    e.say(Unsub([P]))
    assert desk.routes() == [("e", "p")]
    e.say(Ctrl("c"))
    e.say(Unsub([P]))
    assert desk.routes() == []


def test_what_a_neighbour_tells_anew_before_it_has_handled_the_rec_takes_nothing_away() -> None:
    """We have been restarted, and the Rec has overtaken what it tells us: 914007 of --focus crashes."""
    desk = Desk("b", "e", name="a")
    desk.linked("b", 1, P)
    e = desk.far_end("e", 2)
    e.greet()
    change = make_change("c", "path", ["a", "e"], ["d", "b"])
    desk.vanish("b", change)
    desk.substitute(change)
    e.say(Snapshot([("", [Q])], last=True))
    assert sorted(desk.routes()) == [("e", "p"), ("e", "q")]
    e.say(Ctrl("c"))
    e.say(Unsub([P]))
    assert desk.routes() == [("e", "q")]


def test_a_neighbour_that_was_restarted_is_believed_at_once() -> None:
    """What was ignored of its former life does not count against its new one."""
    desk = Desk("b", "e", name="a")
    desk.linked("b", 1, P)
    desk.linked("e", 2)
    change = make_change("c", "path", ["a", "e"], ["d", "b"])
    desk.vanish("b", change)
    desk.substitute(change)
    assert desk.routes() == [("e", "p")]
    e = desk.linked("e", 3)
    assert desk.routes() == []
    e.say(Sub([P]))
    e.say(Unsub([P]))
    assert desk.routes() == []


def test_a_rec_from_somebody_else_than_the_broker_before_does_nothing() -> None:
    desk = Desk("e", "f", "x", name="b")
    for conn, name in enumerate(("e", "f", "x"), 1):
        desk.linked(name, conn)
    change = make_change("c", "path", ["a", "e", "b", "f"], ["d", "z"])
    stranger = desk.linked("x", 4)
    stranger.say(Rec(change, [P], [], b"", True))
    assert desk.routes() == []


def test_the_far_end_waits_for_no_flush_for_ever() -> None:
    """G, on the tail, dies with the Rec; what D has held back is said in the end."""
    stage = Stage(TREE, {"A": [P]}, flush_s_max=1.0, rec_s_max=5.0)
    change = stage.unplanned("path", HEAD, TAIL)
    stage.want("D", Q)
    stage.wait(0.1)
    stage.come(change)
    stage.wait(0.085)
    stage.crash("G")
    stage.wait(0.3)
    stage.start("G")
    stage.rest()
    assert stage.wrong() == []
