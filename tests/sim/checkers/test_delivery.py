"""Lost, doubled, unwanted: found where it is, and not where something releases from it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reknit.sim.checkers.delivery import Tally, check_delivery, check_delivery_on_ring
from reknit.trace.records import BEGINS_ANEW, DRAINED
from tests.sim.checkers.telling import Story, event

ONE = event("a", 1)


def _settled() -> Story:
    """b1 - b2 - b3; cay at b3 has wanted ``a`` since before all was calm."""
    return Story().network("b1-b2", "b2-b3").attached("b3", "cay", "a").calm()


def _found(story: Story) -> list[str]:
    return [each.what for each in check_delivery(story.records)]


def test_a_good_trace_is_accepted_and_counted() -> None:
    tally = Tally()
    story = _settled().published("b1", ONE).delivered("b3", "cay", ONE).settled("b1", ONE).calm()
    assert list(check_delivery(story.records, tally)) == []
    assert (tally.published, tally.delivered, tally.owed) == (1, 1, 1)
    assert (tally.lost, tally.duplicated, tally.unwanted) == (0, 0, 0)


def test_an_event_that_never_arrives_is_lost() -> None:
    tally = Tally()
    [lost] = check_delivery(_settled().published("b1", ONE).calm().records, tally)
    assert "never reached cay at b3 over 2 links" in lost.what
    assert tally.lost == 1


def test_also_at_its_own_broker() -> None:
    story = _settled().published("b3", event("a", 1, "b3.1")).calm()
    assert ["at its own broker" in what for what in _found(story)] == [True]


def test_a_session_on_its_way_to_a_broker_with_a_store_that_dies_is_where_it_was() -> None:
    story = _settled().subscribed("b2", "cay", "a").crashed("b2").started("b2").calm()
    story.published("b1", ONE).delivered("b3", "cay", ONE).calm()
    assert list(check_delivery(story.records, lasting=True)) == []


def test_without_a_calm_moment_nothing_is_judged_yet() -> None:
    assert _found(_settled().published("b1", ONE)) == []


def test_a_second_copy_is_one_too_many() -> None:
    story = _settled().published("b1", ONE).delivered("b3", "cay", ONE).delivered("b3", "cay", ONE).calm()
    assert ["twice" in what for what in _found(story)] == [True]


def test_a_second_copy_long_after_is_one_too_many() -> None:
    story = _settled().published("b1", ONE).delivered("b3", "cay", ONE).calm().delivered("b3", "cay", ONE)
    assert ["twice" in what for what in _found(story)] == [True]


def test_what_nobody_asked_for_is_unwanted() -> None:
    other = event("b", 1)
    story = _settled().published("b1", other).delivered("b3", "cay", other).calm()
    assert ["does not want it" in what for what in _found(story)] == [True]


def test_what_was_wanted_once_is_unwanted_later() -> None:
    story = _settled().unsubscribed("b3", "cay", "a").published("b1", ONE).delivered("b3", "cay", ONE)
    assert ["does not want it" in what for what in _found(story)] == [True]


@pytest.mark.parametrize(
    "release",
    [
        lambda story: story.unsubscribed("b3", "cay", "a"),
        lambda story: story.detached("b3", "cay"),
        lambda story: story.crashed("b3").started("b3").linked("b3", "b2"),
        lambda story: story.unlinked("b2", "b3"),
        lambda story: story.unlinked("b2", "b1"),
        lambda story: story.crashed("b1").started("b1").linked("b1", "b2"),
    ],
    ids=["unsubscribed", "detached", "its broker crashes", "link removed", "link on the way removed", "source crashes"],
)
def test_what_releases_from_an_obligation(release: Callable[[Story], Story]) -> None:
    story = _settled().published("b1", ONE)
    release(story)
    assert _found(story.calm()) == []


@pytest.mark.parametrize(
    "keep",
    [
        lambda story: story.crashed("b2").started("b2").linked("b2", "b1").linked("b2", "b3"),
        lambda story: story.unsubscribed("b3", "cay", "b"),
        lambda story: story.settled("b1", ONE).crashed("b1").started("b1").linked("b1", "b2"),
        lambda story: story.subscribed("b3", "cay", "#").unsubscribed("b3", "cay", "#"),
    ],
    ids=["one in between crashes", "another pattern goes", "source crashes once it is settled", "a wish on top"],
)
def test_what_does_not(keep: Callable[[Story], Story]) -> None:
    story = _settled().published("b1", ONE)
    keep(story)
    assert ["never reached" in what for what in _found(story.calm())] == [True]


def _two_in_between() -> Story:
    """a - b - c - d; dan at d has wanted ``a`` since before all was calm."""
    return Story().network("a-b", "b-c", "c-d").attached("d", "dan", "a").calm()


def _back(story: Story) -> Story:
    story.started("b").linked("b", "a").linked("b", "c")
    return story.started("c").linked("c", "b").linked("c", "d")


def test_two_neighbours_in_between_that_are_down_at_once_release_from_nothing() -> None:
    story = _two_in_between().published("a", ONE).crashed("b").crashed("c")
    assert ["never reached dan at d over 3 links" in what for what in _found(_back(story).calm())] == [True]


def test_what_is_published_while_they_are_down_is_owed_too() -> None:
    story = _two_in_between().crashed("b").crashed("c").published("a", ONE)
    assert ["never reached dan at d over 3 links" in what for what in _found(_back(story).calm())] == [True]


def test_a_link_that_neither_end_has_back_when_all_is_calm_is_gone() -> None:
    story = _two_in_between().published("a", ONE).crashed("b").crashed("c")
    story.started("b").linked("b", "a").started("c").linked("c", "d").calm()
    assert _found(story) == []
    assert _found(story.published("a", event("a", 2)).calm()) == []


def test_a_link_that_one_end_leaves_while_the_other_is_down_is_gone() -> None:
    story = _two_in_between().crashed("b").published("a", ONE).unlinked("c", "b")
    story.started("b").linked("b", "a").linked("b", "c").unlinked("b", "c").calm()
    assert _found(story) == []


def test_two_subscriptions_are_two_reasons() -> None:
    story = _settled().subscribed("b3", "cay", "#").calm().published("b1", ONE).unsubscribed("b3", "cay", "a")
    assert ["never reached" in what for what in _found(story.calm())] == [True]


def test_a_subscription_promises_nothing_before_all_was_calm() -> None:
    story = Story().network("b1-b2").attached("b2", "ben", "a").published("b1", ONE).calm()
    assert _found(story) == []


def test_a_new_link_promises_nothing_before_all_was_calm() -> None:
    story = Story().network("b1-b2").started("b3").attached("b3", "cay", "a").calm()
    story.linked("b2", "b3").linked("b3", "b2").published("b1", ONE).calm()
    assert _found(story) == []
    later = event("a", 2)
    assert ["never reached" in what for what in _found(story.published("b1", later).calm())] == [True]


def test_who_is_not_connected_is_owed_nothing() -> None:
    story = Story().network("b1-b2", "b3-b4").attached("b4", "dan", "a").calm().published("b1", ONE).calm()
    assert _found(story) == []


def test_a_session_that_begins_anew_may_get_an_event_again() -> None:
    story = _settled().published("b1", ONE).delivered("b3", "cay", ONE)
    story.crashed("b3").started("b3").linked("b3", "b2").attached("b3", "cay", "a").delivered("b3", "cay", ONE).calm()
    assert _found(story) == []


# --- sessions that move


def _moving() -> Story:
    """ann has moved from b2 to b1, and one event was on its way to her."""
    story = Story().network("b1-b2").attached("b2", "ann", "a").calm().published("b1", event("a", 1))
    story.moving("b2", "ann", "b1").subscribed("b1", "ann", "a").moved_in("b1", "ann", "b2")
    return story


def _what(story: Story) -> list[str]:
    return [each.what for each in check_delivery(story.records)]


def test_what_a_session_was_owed_its_new_broker_owes_it() -> None:
    assert _what(_moving().moved_out("b2", "ann", "b1").detached("b2", "ann").calm()) == [
        "('b1.1', 1) (a) never reached ann at b1 at its own broker"
    ]
    told = _moving().delivered("b1", "ann", event("a", 1)).moved_out("b2", "ann", "b1").detached("b2", "ann")
    assert _what(told.calm()) == []


def test_until_the_client_was_told_its_old_broker_owes_it() -> None:
    assert len(_what(_moving().calm())) == 1
    assert _what(_moving().delivered("b2", "ann", event("a", 1)).calm()) == []


def test_what_it_had_before_it_moved_comes_twice_if_it_comes_again() -> None:
    story = Story().network("b1-b2").attached("b2", "ann", "a").calm().published("b1", event("a", 1))
    story.delivered("b2", "ann", event("a", 1)).moving("b2", "ann", "b1").subscribed("b1", "ann", "a")
    story.moved_in("b1", "ann", "b2").delivered("b1", "ann", event("a", 1))
    assert _what(story.calm()) == ["('b1.1', 1) was delivered to ann at b1 twice"]


def test_what_is_published_once_it_has_moved_is_owed_at_once_for_it_has_wanted_it_long_since() -> None:
    story = _moving().moved_out("b2", "ann", "b1").detached("b2", "ann").published("b2", event("a", 1, "b2.1"))
    assert len(_what(story.calm())) == 2


def test_what_has_moved_over_a_link_that_is_younger_than_all_calm_has_settled_only_when_all_is_calm_again() -> None:
    story = Story().network("b1-b2").started("b3").attached("b3", "ann", "a").calm().linked("b2", "b3")
    story.linked("b3", "b2").moving("b3", "ann", "b2").subscribed("b2", "ann", "a").moved_in("b2", "ann", "b3")
    story.moved_out("b3", "ann", "b2").detached("b3", "ann").published("b1", event("a", 1)).calm()
    assert _what(story) == []
    assert len(_what(story.published("b1", event("a", 2)).calm())) == 1


def test_a_new_broker_that_dies_before_the_client_is_told_releases_from_nothing() -> None:
    assert len(_what(_moving().settled("b1", event("a", 1)).crashed("b1").calm())) == 1
    told = _moving().settled("b1", event("a", 1)).crashed("b1").moved_out("b2", "ann", "b1").detached("b2", "ann")
    assert _what(told.calm()) == []


def test_if_its_new_broker_has_died_a_session_that_begins_there_anew_is_owed_nothing_of_the_old_one() -> None:
    story = _moving().settled("b1", event("a", 1)).crashed("b1").started("b1").attached("b1", "ann", "a")
    assert _what(story.moved_out("b2", "ann", "b1").detached("b2", "ann").calm()) == []


# --- rings


def _on_ring() -> Story:
    return Story().network("b1-b2").attached("b2", "ann", "a").calm()


def test_what_passes_by_a_broker_that_was_out_of_reach_is_excused_on_a_ring() -> None:
    story, tally = _on_ring().lost("b1", "b2").published("b1", event("a", 1)).calm(), Tally()
    assert list(check_delivery_on_ring(story.records, tally)) == []
    assert tally.excused.total() == 1


def test_but_not_by_one_that_has_ended_its_links_itself() -> None:
    story = _on_ring().lost("b2", "b1", BEGINS_ANEW).published("b1", event("a", 1)).calm()
    assert len(list(check_delivery_on_ring(story.records))) == 1


# --- swaps that go on without one of the three


def _swapping() -> Story:
    """x - a - b - c - z; zoe at z and xan at x have wanted ``a`` for long, and a is to move from b to c."""
    story = Story().network("x-a", "a-b", "b-c", "c-z").attached("z", "zoe", "a").attached("x", "xan", "a").calm()
    return story.changed("c", "swap: lock at the goal", "b").changed("c", "swap: connectAck at the goal", "a")


WITHOUT = "swap: without at the goal"


@pytest.mark.parametrize(("source", "who"), [("x", "zoe"), ("a", "zoe"), ("c", "xan")])
@pytest.mark.parametrize("lost", ["a", "b"])
def test_what_is_under_way_between_the_three_when_one_goes_on_without_another_may_be_lost(
    source: str, who: str, lost: str
) -> None:
    story = _swapping().published(source, event("a", 1, source))
    home = "z" if who == "zoe" else "x"
    other = ("x", "xan") if who == "zoe" else ("z", "zoe")
    story.delivered(*other, event("a", 1, source))
    assert [f"never reached {who} at {home}" in what for what in _what(_copy(story).calm())] == [True]
    assert _what(story.changed("c", WITHOUT, lost).calm()) == []


def _copy(story: Story) -> Story:
    copy = Story()
    copy.records = list(story.records)
    return copy


@pytest.mark.parametrize("out", ["unlock", "undone", "end"])
def test_what_is_published_when_the_goal_is_out_of_it_is_owed_as_ever(out: str) -> None:
    story = _swapping().changed("c", WITHOUT, "a")
    assert _what(_copy(story).published("a", ONE).delivered("x", "xan", ONE).calm()) == []
    story.changed("c", f"swap: {out} at the goal").published("a", ONE).delivered("x", "xan", ONE)
    assert ["never reached zoe at z" in what for what in _what(story.calm())] == [True]


def test_another_goal_that_is_out_of_its_swap_changes_nothing() -> None:
    story = _swapping().changed("c", WITHOUT, "a").changed("z", "swap: end at the goal")
    assert _what(story.published("a", ONE).delivered("x", "xan", ONE).calm()) == []


def test_a_mover_without_which_the_middle_hands_the_link_over_is_parted() -> None:
    without, handed = "swap: without at the middle", "swap: close(ab) at the middle"
    story = _swapping().changed("b", without, "a").changed("b", handed, "a").published("a", ONE)
    assert _what(_copy(story).delivered("x", "xan", ONE).calm()) == []
    assert ["never reached xan at x" in what for what in _what(_copy(story).calm())] == [True]
    handed_in_time = _swapping().changed("b", handed, "a").published("a", ONE).delivered("x", "xan", ONE)
    assert ["never reached zoe at z" in what for what in _what(handed_in_time.calm())] == [True]


def test_what_passes_one_of_the_three_but_no_link_between_them_is_owed_as_ever() -> None:
    mine, near = event("a", 1, "z"), event("a", 1, "c")
    story = _swapping().published("z", mine).delivered("x", "xan", mine)
    story.published("c", near).delivered("x", "xan", near)
    assert [what.partition("never ")[2] for what in _what(story.changed("c", WITHOUT, "a").calm())] == [
        "reached zoe at z at its own broker",
        "reached zoe at z over 1 links",
    ]


def test_what_was_under_way_between_them_is_still_when_a_link_has_moved_since() -> None:
    story = _swapping().published("a", ONE).delivered("x", "xan", ONE)
    story.link_moved("a", "b", "c").link_moved("a", "c", "z").changed("b", "swap: without at the middle", "a")
    assert _what(story.calm()) == []


def test_two_that_are_in_no_swap_with_each_other_release_from_nothing() -> None:
    story = _swapping().published("a", ONE).delivered("x", "xan", ONE).changed("z", WITHOUT, "a")
    assert len(_what(story.calm())) == 1


def test_once_all_was_calm_a_swap_is_over() -> None:
    story = _swapping().calm().published("a", ONE).delivered("x", "xan", ONE).changed("c", WITHOUT, "a")
    assert len(_what(story.calm())) == 1


@pytest.mark.parametrize("known", [False, True])
def test_a_link_that_is_moved_over_a_new_one_is_as_new_as_that(known: bool) -> None:
    """b3 is linked with b2; then b1's link to b2 leads to b3, which has heard of what is wanted at b1 or not yet."""
    story = Story().network("b1-b2").attached("b1", "cay", "a").calm().linked("b2", "b3").linked("b3", "b2")
    story = story.calm() if known else story
    found = _found(story.link_moved("b1", "b2", "b3").published("b3", ONE).settled("b3", ONE).calm())
    assert found == (["('b1.1', 1) (a) never reached cay at b1 over 1 links"] if known else [])


@pytest.mark.parametrize("back", [False, True])
def test_a_broker_that_was_drained_and_is_back_may_leave_something_behind(back: bool) -> None:
    story = _settled().changed("b2", DRAINED)
    story = story.started("b2") if back else story
    found = _found(story.published("b1", ONE).unlinked("b2", "b3").settled("b1", ONE).calm())
    assert bool(found) is not back
