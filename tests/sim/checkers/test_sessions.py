"""What goes into a session comes out of it: by traces written by hand."""

from __future__ import annotations

import msgspec

from reknit.sim.checkers.sessions import check_sessions
from reknit.trace.records import Kind
from tests.sim.checkers.telling import Story, event

E1, E2 = event("a", 1), event("a", 2)


def _found(story: Story, lasting: bool = False) -> list[str]:
    return [each.what for each in check_sessions(story.records, lasting=lasting)]


def test_in_the_same_order_once_and_all_of_it() -> None:
    good = Story().attached("b1", "ann").delivered("b1", "ann", E1).delivered("b1", "ann", E2)
    assert _found(good.taken("b1", "ann", E1).taken("b1", "ann", E2).calm()) == []


def test_out_of_order_doubled_and_left_behind() -> None:
    bad = Story().attached("b1", "ann").delivered("b1", "ann", E1).delivered("b1", "ann", E2)
    bad.taken("b1", "ann", E2).taken("b1", "ann", E2).calm()
    assert _found(bad) == [
        "ann at b1 has taken ('b1.1', 2) before ('b1.1', 1), which came first",
        "ann at b1 has taken ('b1.1', 2), which its session did not have",
        "('b1.1', 1) never came out of the session of ann at b1",
    ]


def test_what_is_next_in_both_queues_may_be_taken_from_either() -> None:
    """That of the group, and its own."""

    def given() -> Story:
        story = Story().attached("b1", "ann")
        for each in (E1, E2):
            story._add("b1", Kind.SHARED, client="ann", event=each)
        return story.delivered("b1", "ann", E1)

    for good in ((E1, E2, E1), (E1, E1, E2)):
        story = given()
        for each in good:
            story.taken("b1", "ann", each)
        assert _found(story.calm()) == []
    for bad in ((E2, E1, E1), (E1, E2), (E1, E2, E1, E1)):
        story = given()
        for each in bad:
            story.taken("b1", "ann", each)
        assert len(_found(story.calm())) == 1


def _moves() -> Story:
    return Story().attached("b1", "ann").delivered("b1", "ann", E1).moving("b1", "ann", "b2")


def test_a_session_that_moves_goes_on_as_it_was() -> None:
    story = _moves().moved_in("b2", "ann", "b1").delivered("b2", "ann", E2).moved_out("b1", "ann", "b2")
    story.detached("b1", "ann")
    assert _found(story.taken("b2", "ann", E1).taken("b2", "ann", E2).calm()) == []


def test_what_was_left_in_it_is_missed() -> None:
    story = _moves().moved_in("b2", "ann", "b1").moved_out("b1", "ann", "b2").detached("b1", "ann").calm()
    assert _found(story) == ["('b1.1', 1) never came out of the session of ann at b2"]


def test_nothing_is_delivered_into_a_session_that_has_not_arrived() -> None:
    story = _moves().delivered("b2", "ann", E2)
    assert _found(story) == ["('b1.1', 2) was delivered to ann at b2, which has no session there"]


def test_nobody_misses_what_is_in_a_session_that_nobody_was_told_of_or_whose_broker_died() -> None:
    assert _found(_moves().moved_in("b2", "ann", "b1").crashed("b1").calm()) == []
    assert _found(_moves().crashed("b1").moved_in("b2", "ann", "b1").calm()) == []
    assert (
        _found(
            _moves().moved_in("b2", "ann", "b1").crashed("b2").moved_out("b1", "ann", "b2").detached("b1", "ann").calm()
        )
        == []
    )


def test_nor_if_a_session_that_was_left_behind_moves_on() -> None:
    left_behind = _moves().moved_in("b2", "ann", "b1").crashed("b1").attached("b1", "ann")
    left_behind.moving("b2", "ann", "b3").moved_in("b3", "ann", "b2").moved_out("b2", "ann", "b3").detached("b2", "ann")
    assert _found(left_behind.calm()) == []


# --- with stores


def _restarted(story: Story, node: str, client: str) -> Story:
    """The next life has its sessions from the store at once."""
    story.crashed(node).started(node).attached(node, client)
    story.records[-1] = msgspec.structs.replace(story.records[-1], time=story.records[-2].time)
    return story


def test_a_session_outlives_its_broker() -> None:
    story = _restarted(Story().attached("b1", "ann").delivered("b1", "ann", E1), "b1", "ann")
    missed = "('b1.1', 1) never came out of the session of ann at b1"
    assert _found(_copy(story).calm(), lasting=True) == [missed]
    assert _found(story.taken("b1", "ann", E1).calm(), lasting=True) == []


def test_one_that_is_in_two_stores_is_asked_for_where_the_client_is() -> None:
    """The heir had stored it when it died, and the drain was undone."""
    story = _restarted(_moves(), "b2", "ann").delivered("b2", "ann", E1)
    missed = "('b1.1', 1) never came out of the session of ann at b1"
    assert _found(_copy(story).calm(), lasting=True) == [missed]
    assert _found(story.taken("b1", "ann", E1).calm(), lasting=True) == []


def test_a_client_that_begins_anew_elsewhere_is_there() -> None:
    story = Story().attached("b1", "ann").delivered("b1", "ann", E1).started("b2").attached("b2", "ann")
    assert _found(_copy(story).calm(), lasting=True) == []
    missed = "('b1.1', 2) never came out of the session of ann at b2"
    assert _found(story.delivered("b2", "ann", E2).calm(), lasting=True) == [missed]


def _copy(story: Story) -> Story:
    copy = Story()
    copy.records = list(story.records)
    return copy


def test_with_stores_no_client_takes_an_event_from_both_brokers_of_a_move() -> None:
    both = _moves().taken("b1", "ann", E1).moved_in("b2", "ann", "b1").crashed("b1").started("b1")
    both.delivered("b2", "ann", E1).taken("b2", "ann", E1)
    twice = ["ann at b2 has taken ('b1.1', 1), which it had taken before"]
    assert [each.what for each in check_sessions(both.records, lasting=True, once=True)] == twice
    assert _found(both, lasting=True) == []  # a client that goes about by itself may


def test_who_begins_anew_may_see_again_what_was_under_way() -> None:
    anew = Story().attached("b1", "ann").delivered("b1", "ann", E1).taken("b1", "ann", E1).detached("b1", "ann")
    anew.attached("b1", "ann").delivered("b1", "ann", E1).taken("b1", "ann", E1)
    assert list(check_sessions(anew.records, lasting=True, once=True)) == []
