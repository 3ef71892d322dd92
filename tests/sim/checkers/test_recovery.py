"""Where events may be lost: what comes twice is found, what comes to the wrong one, and what somebody had all along."""

from __future__ import annotations

from reknit.sim.checkers.delivery import Tally
from reknit.sim.checkers.recovery import (
    LONG_S,
    MISSED,
    SOURCE_DIED,
    check_recovery,
)
from reknit.trace.records import DRAINED, Kind
from tests.sim.checkers.telling import Story, event

ONE = event("a", 1)


def _settled() -> Story:
    """b1 - b2 - b3; cay at b3 has wanted ``a`` since before all was calm."""
    return Story().network("b1-b2", "b2-b3").attached("b3", "cay", "a").calm()


def _found(story: Story) -> list[str]:
    assert all(each.checker in ("recovery", "delivery") for each in check_recovery(story.records))
    return [each.what for each in check_recovery(story.records)]


def test_what_nobody_has_any_more_may_be_lost() -> None:
    tally = Tally()
    story = _settled().published("b1", ONE).settled("b1", ONE).calm()
    assert list(check_recovery(story.records, tally)) == []
    assert (tally.owed, tally.lost) == (1, 1)


def test_what_somebody_has_must_come() -> None:
    story = _settled().published("b1", ONE)._add("b2", Kind.KEPT, event=ONE)
    assert _found(story.calm()) == ["('b1.1', 1) (a) never reached cay at b3 over 2 links, though b2 had it"]
    story = _settled().published("b1", ONE)._add("b2", Kind.KEPT, event=ONE)
    story._add("b3", Kind.RECOVERED, peer="b2", event=ONE).delivered("b3", "cay", ONE)
    assert _found(story.calm()) == []


def test_a_broker_that_leaves_hands_its_cache_over_and_what_it_has_then_counts_no_more() -> None:
    story = _settled().published("b1", ONE)._add("b2", Kind.KEPT, event=ONE)
    story._add("b2", Kind.CHANGE, peer="b1", detail=DRAINED)
    assert _found(story.calm()) == ["('b1.1', 1) (a) never reached cay at b3 over 2 links, though b1 had it"]
    story = _settled().published("b1", ONE)._add("b2", Kind.CHANGE, peer="b1", detail=DRAINED)
    assert _found(story._add("b2", Kind.KEPT, event=ONE).calm()) == []


def test_where_sessions_last_a_crash_forgets_what_was_missing_but_not_that_somebody_wants_it() -> None:
    two, three, four, tally = event("a", 2), event("a", 3), event("a", 4), Tally()
    story = _settled().published("b1", ONE).crashed("b3").published("b1", two)
    story._add("b3", Kind.STARTED, detail="b3.2").linked("b3", "b2").linked("b2", "b3").published("b1", three)
    for each in (ONE, two, three):
        story._add("b1", Kind.KEPT, event=each)
    story.calm().published("b1", four)._add("b1", Kind.KEPT, event=four).calm()
    lost = list(check_recovery(story.records, tally, lasting=True))
    assert [each.what.partition(" (")[0] for each in lost] == ["('b1.1', 2)", "('b1.1', 3)", "('b1.1', 4)"]
    assert tally.excused == {MISSED: 1}


def test_what_is_excused_is_counted_if_somebody_has_it_and_it_never_came() -> None:
    for kept, came, counted in ((True, False, {SOURCE_DIED: 1}), (False, False, {}), (True, True, {})):
        tally, story = Tally(), _settled().published("b1", ONE)
        if kept:
            story._add("b2", Kind.KEPT, event=ONE)
        story.crashed("b1")
        if came:
            story.delivered("b3", "cay", ONE)
        assert list(check_recovery(story.calm().records, tally)) == []
        assert tally.excused == counted


def _moved(story: Story) -> Story:
    story._add("b3", Kind.MOVING, client="cay", peer="b2").attached("b2", "cay", "a")
    return story._add("b2", Kind.MOVED_IN, client="cay", peer="b3")._add("b3", Kind.MOVED_OUT, client="cay", peer="b2")


def test_a_session_that_moves_is_owed_as_before() -> None:
    story = _moved(_settled().published("b1", ONE)._add("b1", Kind.KEPT, event=ONE))
    assert _found(story.calm()) == ["('b1.1', 1) (a) never reached cay at b2 over 1 links, though b1 had it"]


def test_a_session_that_moves_has_wanted_what_it_wants_as_long_as_before() -> None:
    story = _settled().published("b1", ONE)
    for _ in range(int(LONG_S * 10) + 1):
        story.calm()
    _moved(story)._add("b2", Kind.RECOVERED, peer="b1", event=ONE).delivered("b2", "cay", ONE)
    assert _found(story) == []


def test_what_was_kept_before_is_judged_once() -> None:
    story = _settled().published("b1", ONE).calm()._add("b2", Kind.KEPT, event=ONE).calm()
    assert _found(story) == []


def test_nothing_comes_twice() -> None:
    story = _settled().published("b1", ONE).delivered("b3", "cay", ONE)
    story._add("b3", Kind.RECOVERED, peer="b2", event=ONE).delivered("b3", "cay", ONE)
    assert _found(story.calm()) == ["('b1.1', 1) was delivered to cay at b3 twice"]


def test_what_a_broker_that_crashes_has_published_is_released() -> None:
    """Settled says nothing here: it was sent, and no more."""
    story = _settled().published("b1", ONE).settled("b1", ONE)._add("b2", Kind.KEPT, event=ONE).crashed("b1")
    assert _found(story.calm()) == []


def test_nobody_gets_what_was_published_long_before_it_asked() -> None:
    story = _settled().published("b1", ONE)
    for _ in range(int(LONG_S * 10) + 1):
        story.calm()
    story.attached("b3", "dan", "a")._add("b3", Kind.RECOVERED, peer="b2", event=ONE).delivered("b3", "dan", ONE)
    assert _found(story) == ["('b1.1', 1) came back to dan at b3, which did not want it then"]
    story = _settled().published("b1", ONE).attached("b3", "dan", "a")
    story._add("b3", Kind.RECOVERED, peer="b2", event=ONE).delivered("b3", "dan", ONE)
    assert _found(story) == []


def test_order_does_not_matter_here() -> None:
    two = event("a", 2)
    story = _settled().published("b1", ONE).published("b1", two).delivered("b3", "cay", two).delivered("b3", "cay", ONE)
    assert _found(story.calm()) == []
