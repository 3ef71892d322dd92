"""FIFO and causal order: each fault found, and nothing where order is free."""

from __future__ import annotations

import pytest

from reknit.model.event import Event
from reknit.sim.checkers.order import check_order
from tests.sim.checkers.telling import Story, event

ONE, TWO = event("a", 1), event("a", 2)
ANSWER = event("a", 1, "b2.1")


def _found(story: Story) -> list[str]:
    return [each.what.split(":")[0] for each in check_order(story.records)]


def _published() -> Story:
    return Story().attached("b3", "cay", "#").published("b1", ONE).published("b1", TWO)


def test_in_order() -> None:
    assert _found(_published().delivered("b3", "cay", ONE).delivered("b3", "cay", TWO)) == []


def test_gaps_are_not_for_this_checker() -> None:
    assert _found(_published().delivered("b3", "cay", TWO)) == []


def test_the_second_before_the_first() -> None:
    story = _published().delivered("b3", "cay", TWO).delivered("b3", "cay", ONE)
    assert "not FIFO" in _found(story)


def test_events_of_two_sources_have_no_order() -> None:
    other = event("a", 1, "b9.1")
    story = _published().published("b9", other, "zoe").delivered("b3", "cay", TWO).delivered("b3", "cay", other)
    assert _found(story) == []


def test_two_clients_have_each_their_own_order() -> None:
    story = _published().delivered("b3", "cay", TWO).delivered("b3", "dan", ONE).delivered("b3", "dan", TWO)
    assert _found(story) == []


def _answered() -> Story:
    """Ben at b2 has seen ONE, and answers it."""
    return Story().published("b1", ONE).delivered("b2", "ben", ONE).published("b2", ANSWER, "ben")


def test_an_answer_behind_the_question() -> None:
    assert _found(_answered().delivered("b3", "cay", ONE).delivered("b3", "cay", ANSWER)) == []


def test_an_answer_before_the_question() -> None:
    assert _found(_answered().delivered("b3", "cay", ANSWER).delivered("b3", "cay", ONE)) == ["not causal"]


def test_the_answer_to_an_answer() -> None:
    reply = event("a", 1, "b4.1")
    story = _answered().delivered("b4", "dan", ANSWER).published("b4", reply, "dan")
    assert _found(story.delivered("b3", "cay", reply).delivered("b3", "cay", ONE)) == ["not causal"]


def test_what_was_published_before_belongs_to_the_past_too() -> None:
    """Pam publishes at b1, then goes on at b2: nobody sees the second without the first before it."""
    story = Story().published("b1", ONE, "pam").published("b2", ANSWER, "pam")
    assert _found(story.delivered("b3", "cay", ANSWER).delivered("b3", "cay", ONE)) == ["not causal"]


def test_who_answers_nothing_is_free() -> None:
    story = Story().published("b1", ONE).published("b2", ANSWER, "ben")
    assert _found(story.delivered("b3", "cay", ANSWER).delivered("b3", "cay", ONE)) == []


def test_a_crash_tears_causal_chains_until_all_is_calm_but_not_fifo() -> None:
    story = _answered().crashed("b7").delivered("b3", "cay", ANSWER).delivered("b3", "cay", ONE)
    assert _found(story) == []
    torn = _published().crashed("b7").delivered("b3", "cay", TWO).delivered("b3", "cay", ONE)
    assert _found(torn) == ["not FIFO"]
    story = Story().crashed("b7").calm()
    story.records += _answered().delivered("b3", "cay", ANSWER).delivered("b3", "cay", ONE).records
    assert _found(story) == ["not causal"]


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ("swap: end at the goal", ["not causal"]),
        ("add: connect at the neighbour", ["not causal"]),
        ("drain: end at the leaver", ["not causal"]),
        ("path: Rec at the head", []),
        ("swap: without the middle at the mover", []),
        ("deferred: end at the first", []),
    ],
)
def test_a_swap_an_addition_and_a_drain_keep_causal_order_and_a_replacement_does_not(
    step: str, found: list[str]
) -> None:
    story = _answered().changed("b7", step).delivered("b3", "cay", ANSWER).delivered("b3", "cay", ONE)
    assert _found(story) == found


def test_a_new_session_begins_anew() -> None:
    story = _published().delivered("b3", "cay", TWO).detached("b3", "cay").attached("b3", "cay", "#")
    assert _found(story.delivered("b3", "cay", ONE)) == []


def _moved(*after: Event) -> list[str]:
    story = Story().network("b1-b2").attached("b2", "ann", "a").calm()
    story.delivered("b2", "ann", event("a", 2)).moving("b2", "ann", "b1").moved_in("b1", "ann", "b2")
    for each in after:
        story.delivered("b1", "ann", each)
    return [each.what for each in check_order(story.calm().records)]


def test_order_goes_on_where_a_session_goes() -> None:
    assert _moved(event("a", 3)) == []
    assert _moved(event("a", 1)) == ["not FIFO: ann at b1 saw ('b1.1', 1) behind number 2 of the same source"]


def test_a_client_knows_what_is_in_a_session_ahead_of_it_once_it_was_told() -> None:
    """Until then it may publish without having seen it, and nobody has to wait."""
    for told in (False, True):
        story = Story().network("b1-b2").attached("b2", "ann", "a").attached("b2", "bob", "#").calm()
        story.published("b1", event("a", 1)).moving("b2", "ann", "b1").moved_in("b1", "ann", "b2")
        story.delivered("b1", "ann", event("a", 1))
        if told:
            story.moved_out("b2", "ann", "b1")
        story.published("b2", event("b", 1, "b2.1"), client="ann")
        story.delivered("b2", "bob", event("b", 1, "b2.1")).delivered("b2", "bob", event("a", 1))
        assert len(list(check_order(story.calm().records))) == told
