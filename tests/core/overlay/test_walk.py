"""Planned changes: checked and locked before anything happens, ordered where they collide, undone where one dies."""

from __future__ import annotations

import pytest

from reknit.core.io import Dial, LinkVanished, Replace
from reknit.core.links.options import LinkOptions
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.tree import check_tree
from reknit.trace.records import Kind
from reknit.wire.messages import Abort, Change, Done, Leave, LockNack, Prepare, Prepared, Snapshot
from tests.core.desk import Desk
from tests.sim.heard import Stage

P, Q = Pattern.parse("p"), Pattern.parse("q")
TREE = "A-B A-E E-F F-C F-X D-G G-B"
HEAD, TAIL = "A E F C", "D G B"
STRATEGIES = ("strawman", "deferred", "path", "path-batched")


def _locked(stage: Stage) -> list[str]:
    return [name for name, node in stage.nodes.items() if node.broker and node.broker.overlay.search.busy]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_link_is_replaced_and_nobody_stays_locked(strategy: str) -> None:
    stage = Stage(TREE, {"E": [P], "D": [P], "X": [Q]})
    request = stage.planned(strategy, HEAD, TAIL)
    stage.rest()
    assert stage.replies[request] == ""
    assert stage.edges() == [("A", "E"), ("B", "G"), ("C", "D"), ("C", "F"), ("D", "G"), ("E", "F"), ("F", "X")]
    assert stage.wrong() == []
    assert _locked(stage) == []
    assert list(check_tree(stage.records)) == []


def test_the_path_is_walked_over_the_new_link_and_back_before_anything_changes() -> None:
    stage = Stage(TREE, {"E": [P], "D": [P]})
    stage.planned("path", HEAD, TAIL)
    stage.wait(0.145)
    there, back = stage.words(Prepare), stage.words(Prepared)
    assert [word[:2] for word in there] == [("A", "E"), ("E", "F"), ("F", "C"), ("C", "D"), ("D", "G"), ("G", "B")]
    assert [word[:2] for word in back] == [("B", "G"), ("G", "D"), ("D", "C"), ("C", "F")]
    assert ("A", "B") in stage.edges()
    assert ("C", "D") not in stage.edges()
    assert _locked(stage) == ["A", "B", "E", "F", "C", "D", "G"]
    stage.rest()
    assert {("D", "C"), ("D", "G")} <= {word[:2] for word in stage.words(Done)}


@pytest.mark.parametrize(
    ("head", "tail", "why"),
    [
        ("A", "B", "the link between A and B would be replaced by itself"),
        ("A E A", "D B", "the path leads over A twice: A - E - A - D - B"),
        ("A F", "D G B", "A and F are no neighbours, though the path leads from one to the other"),
        ("A E F C", "D B", "D and B are no neighbours, though the path leads from one to the other"),
        ("A E F", "C D G B", "F and C are linked already"),
        ("A E F C", "D G", "A has no link to G that could be replaced"),
    ],
)
def test_a_wrong_path_is_refused_with_the_reason_and_nothing_has_changed(head: str, tail: str, why: str) -> None:
    stage = Stage(TREE, {"E": [P], "D": [P]})
    before = stage.edges()
    request = stage.planned("path", head, tail)
    stage.rest()
    assert stage.replies[request] == why
    assert stage.edges() == before
    assert stage.wrong() == []
    assert _locked(stage) == []
    assert [record for record in stage.records if record.kind is Kind.LINK_REMOVED] == []


def test_whoever_is_asked_must_be_the_first_of_the_path() -> None:
    stage = Stage(TREE)
    stage.give("E", Replace("path", ("A", "E"), ("D", "B"), "D", 99))
    assert stage.replies[99] == "the path begins at A, not at E: ask there"
    stage.give("A", Replace("path", ("A", "E"), ("D", "B"), "", 98))
    assert stage.replies[98] == "the address of D is needed"


def test_a_far_end_that_cannot_be_reached_is_tried_for_a_while_and_then_named() -> None:
    stage = Stage(TREE, {"E": [P]}, join_s_max=2.0)
    stage.network.cut("C", "D")
    request = stage.planned("path", HEAD, TAIL)
    stage.wait(8.0)
    assert stage.replies[request] == "given up after 2 s: D cannot be reached: no answer"
    assert _locked(stage) == []
    stage.network.heal()
    stage.rest()
    assert stage.wrong() == []


def test_two_changes_that_share_a_broker_come_one_after_the_other() -> None:
    stage = Stage("a-b b-c c-d d-e e-f", {"a": [P], "f": [Q], "c": [P]})
    requests = [stage.planned("path", "c b", "d"), stage.planned("path", "d", "f e")]
    stage.rest()
    assert [stage.replies[request] for request in requests] == ["", ""]
    assert stage.edges() == [("a", "b"), ("b", "c"), ("b", "d"), ("d", "f"), ("e", "f")]
    assert stage.wrong() == []
    assert list(check_tree(stage.records)) == []


def test_a_change_whose_path_another_has_changed_is_refused() -> None:
    stage = Stage("a-b b-c c-d", {"a": [P], "d": [Q]})
    requests = [stage.planned("path", "b a", "c"), stage.planned("path", "b", "d c")]
    stage.rest()
    assert sorted(stage.replies[request] for request in requests)[0] == ""
    assert "b has no link to c that could be replaced" in [stage.replies[request] for request in requests]
    assert stage.wrong() == []


def test_a_broker_that_does_not_know_yet_what_its_neighbours_want_is_not_ready_for_a_change() -> None:
    """What m tells later would stand against what has come over the new link by then."""
    desk = Desk("m", "n")
    far = desk.far_end("n", 1)
    far.greet()
    far.say(Snapshot([], last=True))
    far.forget()
    prepare = Prepare(Change("1", "strawman", ["n", "b", "x"], 1), "x:1", vanished=False)
    far.say(prepare)
    assert far.heard() == [Prepared("1", "b has not heard from all its neighbours yet", retry=True)]
    other = desk.far_end("m", 2)
    other.greet()
    other.say(Snapshot([], last=True))
    far.forget()
    far.say(prepare)
    assert far.heard() == []  # it asks x first
    assert [dial.peer for dial in desk.all(Dial)][-1] == "x"


def test_a_join_and_a_change_keep_out_of_each_others_way() -> None:
    """A search through half of a tree whose other half hangs on a link that is being replaced would miss the cycle."""
    stage = Stage("a-b b-c c-d", {"a": [P], "d": [Q]})
    change = stage.planned("path", "b a", "d c")
    joined = stage.add_link("a", "c")
    stage.rest()
    assert stage.replies[change] == ""
    assert stage.replies[joined].startswith("the link would close a cycle")
    assert list(check_tree(stage.records)) == []
    assert stage.wrong() == []


def _swap_steps(stage: Stage, step: str) -> list[tuple[float, str]]:
    found = [record for record in stage.records if record.kind is Kind.CHANGE and record.detail.startswith("swap: ")]
    return [(record.time, record.node) for record in found if record.detail.startswith(f"swap: {step} at")]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("mover", ["A", "X"])
def test_a_swap_waits_for_a_change_that_has_one_of_its_brokers(strategy: str, mover: str) -> None:
    stage = Stage(TREE, {"E": [P], "D": [P], "X": [Q], "B": [Q]})
    change = stage.planned(strategy, HEAD, TAIL)
    stage.wait(0.145)
    swap = stage.swap("A", "E", "F") if mover == "A" else stage.swap("X", "F", "E")
    stage.wait(0.05)
    assert {"E", "F"} <= set(_locked(stage))
    assert _swap_steps(stage, "lock") == []
    assert len(stage.words(LockNack)) == (0 if mover == "A" else 1)  # a mover that is locked itself does not even ask
    stage.rest()
    assert (stage.replies[change], stage.replies[swap]) == ("", "")
    assert (("A", "F") in stage.edges()) == (mover == "A")
    assert (("E", "X") in stage.edges()) == (mover == "X")
    assert ("C", "D") in stage.edges()
    assert len(stage.edges()) == len(stage.nodes) - 1
    assert stage.wrong() == []
    assert _locked(stage) == []
    assert list(check_tree(stage.records)) == []


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("moment", [0.015, 0.05, 0.1])
def test_a_change_waits_for_a_swap_that_has_one_of_its_brokers(strategy: str, moment: float) -> None:
    stage = Stage(TREE, {"E": [P], "D": [P], "X": [Q], "B": [Q]})
    swap = stage.swap("X", "F", "E")
    stage.wait(moment)
    assert set(_locked(stage)) & {"E", "F"}
    change = stage.planned(strategy, HEAD, TAIL)
    stage.rest()
    assert (stage.replies[change], stage.replies[swap]) == ("", "")
    ended = max(time for time, _ in _swap_steps(stage, "end"))
    left = [record.time for record in stage.records if record.kind is Kind.LINK_REMOVED and record.node == "A"]
    assert min(left) > ended
    assert {("C", "D"), ("E", "X")} <= set(stage.edges())
    assert len(stage.edges()) == len(stage.nodes) - 1
    assert stage.wrong() == []
    assert list(check_tree(stage.records)) == []


def test_a_link_of_the_path_cannot_be_removed_meanwhile() -> None:
    stage = Stage(TREE)
    stage.planned("path", HEAD, TAIL)
    stage.wait(0.05)
    request = stage.remove_link("E", "F")
    assert stage.replies[request] == "E takes part in a change that A began"
    stage.rest()
    assert ("E", "F") in stage.edges()


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("victim", list("AEFCDGB"))
@pytest.mark.parametrize("moment", [0.02, 0.07, 0.11, 0.16, 0.18, 0.2, 0.22, 0.25])
def test_a_broker_of_the_path_dies_and_one_tree_is_left(strategy: str, victim: str, moment: float) -> None:
    """The change completes or is undone within a bounded time, and nobody stays locked."""
    stage = Stage(TREE, {"E": [P], "G": [P], "X": [Q]})
    stage.planned(strategy, HEAD, TAIL)
    stage.wait(moment)
    stage.crash(victim)
    stage.wait(0.5)
    stage.start(victim)
    stage.attach(victim, f"at {victim}", stage.wants[victim])
    stage.rest()
    assert len(stage.edges()) == 7
    assert (("A", "B") in stage.edges()) != (("C", "D") in stage.edges())
    assert list(check_tree(stage.records)) == []
    assert stage.wrong() == []
    assert _locked(stage) == []


def test_a_broker_that_gets_no_answer_lets_those_behind_go() -> None:
    stage = Stage(TREE, {"E": [P]}, lease_s=4.0, join_s_max=1.0)
    stage.pause("B")
    request = stage.planned("path", HEAD, TAIL)
    stage.wait(5.0)
    assert _locked(stage) == []
    assert "locked for too long" in stage.replies[request]
    stage.resume("B")
    stage.rest()
    assert ("A", "B") in stage.edges()
    assert stage.wrong() == []


def test_a_neighbour_that_leaves_while_the_path_is_walked_ends_the_change() -> None:
    stage = Stage(TREE, {"E": [P]})
    request = stage.planned("path", HEAD, TAIL)
    stage.remove_link("F", "C")
    stage.rest()
    assert stage.replies[request] == "F and C are no neighbours, though the path leads from one to the other"
    assert ("A", "B") in stage.edges()
    assert stage.wrong() == []


def test_nothing_in_flight_on_the_old_link_is_lost_when_it_is_left() -> None:
    """A leave travels behind all that was sent before."""
    stage = Stage(TREE, {"B": [P]})
    for _ in range(20):
        stage.publish("A", "pam", Event("p"))
    stage.planned("path", HEAD, TAIL)
    stage.rest()
    delivered = [record.event.seq for record in stage.records if record.kind is Kind.DELIVERED and record.event]
    assert delivered == list(range(1, 21))


def test_a_link_that_has_vanished_can_be_replaced_by_an_operator() -> None:
    stage = Stage(TREE, {"E": [P], "D": [P]})
    stage.unplanned("path", HEAD, TAIL)
    stage.wait(0.1)
    request = stage.planned("path", HEAD, TAIL)
    stage.rest()
    assert stage.replies[request] == ""
    assert stage.wrong() == []


def test_where_only_one_end_knows_that_it_has_vanished_the_other_learns_of_it() -> None:
    """B does not believe it before it sees it: until then it counts as busy."""
    stage = Stage(TREE, {"E": [P], "D": [P]}, links=LinkOptions())
    stage.network.cut("A", "B")
    stage.network.cut("B", "A")
    stage.give("A", LinkVanished("B", "path", "gone"))
    request = stage.planned("path", HEAD, TAIL)
    stage.wait(1.0)
    assert request not in stage.replies
    stage.rest()
    assert stage.replies[request] == ""
    assert stage.wrong() == []
    assert stage.words(Abort) == []


@pytest.mark.parametrize("replaced", [False, True])
def test_who_is_left_for_a_change_that_it_does_not_know_any_more_looks_whether_it_came_about(replaced: bool) -> None:
    desk = Desk("n")
    far = desk.far_end("n", 1)
    far.greet(address="n:1")
    far.say(Snapshot([], last=True), Leave([], replaced))
    assert list(desk.broker.overlay.joins.wanted) == (["n"] if replaced else [])


def test_who_knows_the_change_waits_for_its_end() -> None:
    stage = Stage(TREE, {"E": [P], "D": [P]})
    stage.planned("strawman", HEAD, TAIL)
    stage.rest()
    assert [leave.replaced for _, _, leave in stage.words(Leave)] == [True, True]
    assert not [name for name, node in stage.nodes.items() if node.broker and node.broker.overlay.joins.wanted]


@pytest.mark.parametrize(("head", "tail"), [(HEAD, TAIL), ("A", "D G B")])
def test_those_beyond_the_new_link_are_let_go_at_once_when_the_change_is_given_up(head: str, tail: str) -> None:
    """B answers so late that A gives up: all hear of it, also over the new link, and nobody waits for his lease."""
    stage = Stage(TREE, {"E": [P], "D": [P]}, lease_s=10.0, join_s_max=0.1)
    stage.kernel.after(0.03, stage.pause, "G")
    request = stage.planned("path", head, tail)
    stage.wait(6.0)
    assert _locked(stage) != []
    stage.resume("G")
    stage.wait(1.0)
    heard = [word[1] for word in stage.words(Abort)]
    assert heard == [*head.split()[1:], *tail.split()]
    assert _locked(stage) == []
    assert stage.replies[request].startswith("given up after 0.1 s: the brokers on the path did not answer in time")
    stage.rest()
    assert ("A", "B") in stage.edges()
    assert stage.wrong() == []
