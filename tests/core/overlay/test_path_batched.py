"""The batched path says the same with fewer and shorter messages."""

from __future__ import annotations

import pytest

from reknit.core.links.options import LinkOptions
from reknit.core.overlay.change import make_change
from reknit.core.overlay.options import RepairOptions
from reknit.core.overlay.path_batched import digest_of
from reknit.model.pattern import Pattern
from reknit.wire.codec import decode
from reknit.wire.messages import AskHeld, Data, Flush, Held, Message, Rec, Snapshot, Sub, Unsub
from tests.core.desk import Desk
from tests.sim.heard import Stage

P, Q, R, S = (Pattern.parse(name) for name in "pqrs")
TREE = "A-B A-E E-F F-C F-X D-G G-B"
HEAD, TAIL = "A E F C", "D G B"


def _named(messages: list[Message]) -> int:
    """How many patterns were named."""
    return sum(
        len(each.add) + len(each.delete) if isinstance(each, Rec) else len(each.patterns)
        for each in messages
        if isinstance(each, Rec | Sub | Unsub | Held)
    )


def _run(strategy: str, churn: bool = False) -> Stage:
    stage = Stage(TREE, {"E": [P, R], "D": [P, Q], "A": [S], "G": [Q]})
    change = stage.unplanned(strategy, HEAD, TAIL)
    stage.wait(0.1)
    if churn:
        stage.want("G", Pattern.parse("new"))
    stage.come(change)
    stage.rest()
    assert stage.wrong() == []
    return stage


def test_it_says_less_than_path() -> None:
    path, batched = _run("path"), _run("path-batched")
    assert len(batched.said) < len(path.said)
    assert _named([word[2] for word in batched.said]) < _named([word[2] for word in path.said])


def test_patterns_travel_together_over_the_new_link_and_along_the_tail() -> None:
    stage = _run("path-batched")
    crossed = [word[2] for word in stage.said if word[:2] == ("C", "D")]
    assert [type(each) for each in crossed] == [Sub, Rec]
    assert sum(word[:2] == ("D", "G") for word in stage.words(Sub)) == 1
    assert sum(word[:2] == ("B", "G") for word in stage.words(Unsub)) == 1


def test_on_the_head_a_pattern_is_named_once() -> None:
    stage = _run("path-batched")
    first = next(each for one, _, each in stage.words(Rec) if one == "A" and isinstance(each, Rec))
    assert sorted([*first.add, *first.delete]) == [P, Q]
    assert (sorted(first.delete), first.add) == ([P, Q], [])


def test_the_digest_spares_the_patterns_over_the_new_link() -> None:
    stage = _run("path-batched")
    crossed = next(each for one, _, each in stage.words(Rec) if one == "C" and isinstance(each, Rec))
    assert (crossed.add, crossed.delete) == ([], [])
    assert crossed.digest == digest_of([Q, P])
    assert stage.words(AskHeld) == []


def test_where_the_digest_does_not_fit_the_far_end_asks() -> None:
    stage = _run("path-batched", churn=True)
    assert [word[:2] for word in stage.words(AskHeld)] == [("D", "C")]
    assert [word[:2] for word in stage.words(Held)] == [("C", "D")]
    assert ("D", "C", Sub([Pattern.parse("new")])) in stage.said


def test_nothing_is_said_to_the_near_end_before_the_tail_is_done() -> None:
    stage = _run("path-batched", churn=True)
    flush = next(word for word in stage.words(Flush) if word[:2] == ("G", "D"))
    early = stage.said[: stage.said.index(flush)]
    assert [word for word in early if word[:2] == ("D", "C") and isinstance(word[2], Sub | Unsub)] == []


def test_a_digest_is_of_the_set_and_not_of_its_order_or_its_texts_run_together() -> None:
    assert digest_of([P, Q]) == digest_of([Q, P])
    assert digest_of([P]) != digest_of([P, Q])
    assert digest_of([Pattern("ab", "c")]) != digest_of([Pattern("a", "bc")])


def test_an_answer_that_nobody_asked_for_does_nothing() -> None:
    desk = Desk("c", name="d")
    c = desk.linked("c", 1)
    c.say(Held("unheard-of", [P], True))
    assert c.heard() == []


def test_a_near_end_that_is_restarted_before_it_answers_is_told_everything() -> None:
    desk = Desk("g", "b", name="d")
    desk.linked("g", 1, Q)
    change = make_change("c", "path-batched", ["a", "c"], ["d", "g", "b"])
    desk.appear("c", change)
    c = desk.far_end("c", 3)
    c.greet(linked=False)
    c.say(Rec(change, [], [], b"another", True))
    g = desk.linked("g", 4, Q)
    g.say(Flush(change))
    assert AskHeld("c") in c.heard()
    again = desk.linked("c", 5)
    assert not desk.broker.replacing.strategies["path-batched"]._asked  # type: ignore[attr-defined]
    again.say(Sub([P]))
    assert ("c", "p") in desk.routes()


@pytest.mark.parametrize("lost_s", [0.0, 5.0])
def test_a_near_end_that_dies_for_good_before_it_answers_is_not_waited_for(lost_s: float) -> None:
    """For D the change is over, and it is free for others, whether it gives C up as lost or goes on calling it."""
    stage = Stage(TREE, {"E": [P, R], "D": [P, Q], "A": [S]}, links=LinkOptions(), repair=RepairOptions(lost_s=lost_s))
    asked = _dies_when_asked(stage)
    change = stage.unplanned("path-batched", HEAD, TAIL)
    stage.wait(0.1)
    stage.want("G", Pattern.parse("new"))
    stage.come(change)
    stage.wait(60.0)
    assert asked == ["D"]
    far = stage.nodes["D"].broker
    assert far is not None
    assert far.replacing.unsettled() == ""
    if lost_s:
        del stage.wants["C"]
        stage.rest()
    else:
        stage.find_again("C")
        stage.attach("C", "at C")
        stage.rest()
        assert ("C", "D") in stage.edges()
    assert stage.wrong() == []


def test_a_near_end_that_answers_too_late_is_told_everything() -> None:
    desk = Desk("g", "b", name="d", changes={"flush_s_max": 1.0})
    desk.linked("g", 1, Q)
    change = make_change("c", "path-batched", ["a", "c"], ["d", "g", "b"])
    desk.appear("c", change)
    c = desk.far_end("c", 3)
    c.greet(linked=False)
    c.say(Rec(change, [], [], b"another", True))
    desk.linked("g", 4, Q).say(Flush(change))
    assert [each for each in c.heard() if isinstance(each, Snapshot)] == []
    desk.run(1.1)
    told = [each for each in c.heard() if isinstance(each, Snapshot)]
    assert [pattern for each in told for _, patterns in each.entries for pattern in patterns] == [Q]
    c.say(Held("c", [P], True))
    assert [each for each in c.heard() if isinstance(each, Sub | Unsub)] == []


def _dies_when_asked(stage: Stage) -> list[str]:
    """C is lost when somebody asks it what it holds, before it hears that; who has asked."""
    asked: list[str] = []

    def overhear(name: str, other: str, data: bytes) -> None:
        frame = decode(data)
        if isinstance(frame, Data) and any(isinstance(each, AskHeld) for each in frame.messages) and not asked:
            asked.append(name)
            stage.kernel.after(0.0, stage.lose, other)

    stage.sent = overhear
    return asked
