"""The batched path says the same with fewer and shorter messages."""

from __future__ import annotations

from reknit.core.overlay.change import make_change
from reknit.core.overlay.path_batched import digest_of
from reknit.model.pattern import Pattern
from reknit.wire.messages import AskHeld, Flush, Held, Message, Rec, Sub, Unsub
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
