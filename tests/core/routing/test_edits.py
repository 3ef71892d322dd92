"""Edits: both halves of a link can be changed without a word, and the ordinary rule goes on from there."""

from __future__ import annotations

from reknit.core.routing.edits import Edits
from reknit.core.routing.subscription_forwarding import SubscriptionForwarding
from reknit.core.turn import Turn
from reknit.model.pattern import Pattern
from reknit.wire.messages import Message, Snapshot, Sub, Unsub

P, Q, R = (Pattern.parse(name) for name in "pqr")


class _Router:
    def __init__(self, *neighbours: str) -> None:
        self.said: list[tuple[str, Message]] = []
        self.routing = SubscriptionForwarding(
            Turn("me", False), lambda name, message: self.said.append((name, message))
        )
        self.edits = Edits(self.routing)
        for name in neighbours:
            self.routing.tell(name)
        self.said.clear()


def test_looking() -> None:
    router = _Router("a", "b")
    router.routing.receive("a", Sub([P, Q]))
    router.routing.receive("b", Sub([Q]))
    edits = router.edits
    assert edits.wanted_by("a") == [P, Q]
    assert edits.wanted_apart_from("a") == [Q]
    assert edits.wanted_only_by("a", [P, Q, R]) == [P, R]


def test_entries_come_and_go_without_a_word() -> None:
    router = _Router("a", "b")
    router.edits.enter("a", [P, Q])
    router.edits.strike("a", [Q, R])
    assert router.edits.wanted_by("a") == [P]
    assert router.said == []


def test_what_is_edited_on_both_sides_needs_no_word_afterwards() -> None:
    """a's wish moves to b, and both a and b know."""
    router = _Router("a", "b", "x")
    router.routing.receive("a", Sub([P]))
    router.said.clear()
    router.edits.enter("b", [P])
    router.edits.strike("a", [P])
    router.edits.knows("a", [P])
    router.edits.knows_not("b", [P])
    router.edits.spread([P])
    assert router.said == []
    router.routing.receive("b", Unsub([P]))
    assert router.said == [("a", Unsub([P])), ("x", Unsub([P]))]


def test_what_was_forgotten_is_said_when_routing_looks_again() -> None:
    router = _Router("a", "b")
    router.edits.enter("b", [P])
    router.edits.spread([P])
    assert router.said == [("a", Sub([P]))]


def test_a_neighbour_is_told_what_it_does_not_know() -> None:
    router = _Router("a")
    router.routing.receive("a", Sub([P, Q]))
    router.edits.begin_telling("b", [Q, R], hold=False)
    router.edits.level("b", together=False)
    assert router.said == [("b", Sub([P])), ("b", Unsub([R]))]
    router.edits.level("b", together=False)
    assert len(router.said) == 2


def test_what_is_held_is_said_later_and_only_if_it_is_still_wanted() -> None:
    router = _Router("a")
    router.routing.receive("a", Sub([P, Q]))
    router.edits.begin_telling("b", [], hold=True)
    router.edits.level("b", together=False)
    router.routing.receive("a", Unsub([Q]))
    assert router.said == []
    router.routing.receive("a", Sub([R]))
    assert router.said == [("b", Sub([R]))]  # not held: it is new
    router.edits.release("b", together=False)
    assert router.said[1:] == [("b", Sub([P]))]


def test_several_patterns_in_one_message() -> None:
    router = _Router("a")
    router.routing.receive("a", Sub([P, Q]))
    router.edits.begin_telling("b", [R], hold=False)
    router.edits.level("b", together=True)
    assert router.said == [("b", Sub([P, Q])), ("b", Unsub([R]))]


def test_what_a_neighbour_wanted_is_dropped_one_by_one_or_together() -> None:
    for together, expected in ((False, [Unsub([P]), Unsub([Q])]), (True, [Unsub([P, Q])])):
        router = _Router("a", "b")
        router.routing.receive("a", Sub([P, Q]))
        router.said.clear()
        router.edits.drop("a", together)
        assert [message for _, message in router.said] == expected
        assert router.edits.wanted_by("a") == []


def test_what_comes_in_one_message_goes_on_in_one() -> None:
    router = _Router("a", "b")
    router.routing.receive("a", Sub([P, Q]))
    router.routing.receive("a", Unsub([Q, P, R]))
    assert router.said == [("b", Sub([P, Q])), ("b", Unsub([Q, P]))]


def test_a_full_telling_ends_all_holding() -> None:
    router = _Router("a")
    router.routing.receive("a", Sub([P]))
    router.edits.begin_telling("b", [], hold=True)
    router.routing.tell("b")
    assert router.said == [("b", Snapshot([("", [P])], True))]
    router.edits.release("b", together=False)
    assert len(router.said) == 1


def test_nobody_is_told_who_is_not_to_be() -> None:
    router = _Router("a")
    for edit in (router.edits.knows, router.edits.knows_not):
        edit("stranger", [P])
    router.edits.level("stranger", together=True)
    router.edits.release("stranger", together=True)
    assert router.said == []
