"""The strategies by name: which may be used where, and who hears what."""

from __future__ import annotations

import pytest

from reknit.core.io import LinkAppeared, LinkVanished, Substitute
from reknit.core.overlay.change import make_change
from reknit.model.pattern import Pattern
from reknit.wire.messages import Commit, Ctrl, Done, Flush, Prepared, Rec
from tests.core.desk import Desk
from tests.sim.heard import Stage

P = Pattern.parse("p")
FORWARDING = "the routing subscription-forwarding"
CHANGE = make_change("c", "path", ["a", "c"], ["d", "b"])


@pytest.mark.parametrize(
    ("options", "strategy", "why"),
    [
        ({}, "walk", "no strategy is called 'walk'; there are: strawman, deferred, path, path-batched"),
        ({"covering": True}, "path", "path does not work with covering, which is on at a; use deferred or strawman"),
        ({"covering": True}, "deferred", ""),
        (
            {"routing": "flooding"},
            "path",
            "path needs the routing subscription-forwarding at a; strawman works with any",
        ),
        ({"routing": "global-table"}, "strawman", ""),
    ],
)
def test_a_strategy_that_does_not_fit_is_refused(options: dict[str, object], strategy: str, why: str) -> None:
    stage = Stage("a-b a-c b-d", {"d": [P]}, **options)
    before = stage.edges()
    request = stage.planned(strategy, "a c", "d b")
    stage.rest()
    assert stage.replies[request] == why
    assert (stage.edges() == before) == bool(why)


def test_a_link_that_vanishes_under_a_strategy_that_does_not_fit_is_removed_plainly() -> None:
    desk = Desk("b", "e", name="a", covering=True)
    desk.linked("b", 1, P)
    desk.linked("e", 2)
    desk.give(LinkVanished("b", "path", "c"))
    assert desk.routes() == []


def test_messages_of_changes_that_nobody_knows_of_do_nothing() -> None:
    desk = Desk("b", "e", name="a")
    desk.linked("b", 1, P)
    e = desk.linked("e", 2)
    away = make_change("x", "no-such", ["e", "a"], ["d", "b"])
    elsewhere = make_change("x", "path", ["p", "q"], ["r", "s"])
    for change in (away, elsewhere):
        e.say(Rec(change, [P], [], b"", True), Flush(change), Commit(change))
    e.say(Ctrl("x"), Done("x"), Prepared("x", "", False))
    assert desk.routes() == [("b", "p")]
    assert e.heard() == []
    assert desk.broker.replacing.at_rest


def test_inputs_about_links_that_are_not_there_do_nothing() -> None:
    desk = Desk("e", name="a")
    desk.linked("e", 1)
    desk.give(LinkVanished("b", "strawman", "c"))
    desk.give(LinkAppeared("e", "", CHANGE))
    desk.give(Substitute(make_change("c", "path", ["z", "a"], ["d", "b"])))
    assert list(desk.broker.links.of) == ["e"]
    assert desk.broker.replacing.new_links.at_rest
