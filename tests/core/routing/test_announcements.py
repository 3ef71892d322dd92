"""What a neighbour is told: the difference is right at every step, and with covering nothing needless is said."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.core.routing.announcements import Announcements, Covering, without_covered
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from tests.core.routing.strategies import events, patterns
from tests.model import strategies as model

steps = st.lists(st.tuples(st.booleans(), patterns), max_size=40)


def _run(said: Announcements, taken: list[tuple[bool, Pattern]]) -> tuple[dict[Pattern, None], dict[Pattern, None]]:
    """What is wanted, and what the hearer of all differences holds."""
    wanted: dict[Pattern, None] = {}
    heard: dict[Pattern, None] = {}
    for want, pattern in taken:
        announce, retract = said.want(pattern) if want else said.want_no_more(pattern)
        if want:
            wanted[pattern] = None
        else:
            wanted.pop(pattern, None)
        assert not heard.keys() & set(announce)  # nothing is said twice
        heard.update(dict.fromkeys(announce))
        for each in retract:
            del heard[each]  # and nothing taken back that was not said
        assert sorted(heard) == sorted(said.announced())
    return wanted, heard


@given(steps)
def test_without_covering_all_that_is_wanted_is_said(taken: list[tuple[bool, Pattern]]) -> None:
    wanted, heard = _run(Announcements(), taken)
    assert heard.keys() == wanted.keys()


@settings(max_examples=200)
@given(steps)
def test_with_covering_it_is_what_the_plain_computation_gives(taken: list[tuple[bool, Pattern]]) -> None:
    wanted, heard = _run(Covering(), taken)
    assert sorted(heard) == sorted(without_covered(wanted))


@given(st.lists(patterns, max_size=12, unique=True), events)
def test_leaving_out_what_is_covered_changes_no_delivery(wanted: list[Pattern], event: Event) -> None:
    kept = without_covered(wanted)
    assert any(each.matches(event) for each in kept) == any(each.matches(event) for each in wanted)


@given(
    st.lists(patterns, max_size=8, unique=True).flatmap(lambda each: st.tuples(st.just(each), st.permutations(each)))
)
def test_the_order_of_wishes_does_not_matter(orders: tuple[list[Pattern], list[Pattern]]) -> None:
    assert sorted(without_covered(orders[0])) == sorted(without_covered(orders[1]))
    said = [Covering(), Covering()]
    for covering, order in zip(said, orders, strict=True):
        for each in order:
            covering.want(each)
    assert sorted(said[0].announced()) == sorted(said[1].announced())


def test_the_wide_one_is_announced_before_the_narrow_one_is_retracted_and_back() -> None:
    wide, narrow = Pattern.parse("a/#"), Pattern.parse("a/b", "x > 1")
    said = Covering()
    assert said.want(narrow) == ([narrow], [])
    assert said.want(wide) == ([wide], [narrow])
    assert said.want_no_more(wide) == ([narrow], [wide])


@pytest.mark.parametrize("order", [("#", "+/#"), ("+/#", "#")])
def test_of_patterns_that_cover_each_other_one_is_said(order: tuple[str, str]) -> None:
    """A topic has at least one level, so the two mean the same: dropping each for the other would drop both."""
    said = Covering()
    for topic in order:
        said.want(Pattern.parse(topic))
    assert said.announced() == without_covered([Pattern.parse(topic) for topic in order])
    assert len(said.announced()) == 1
    [kept] = said.announced()
    said.want_no_more(kept)
    assert said.announced() == [Pattern.parse(topic) for topic in order if topic != kept.topic]


@settings(max_examples=300)
@given(st.lists(model.filters, min_size=1, max_size=12, unique=True))
def test_topics_of_every_kind_are_left_out_by_the_same_rule(topics: list[str]) -> None:
    """Who covers a filter is found by reading it as a topic; none may be missed."""
    wanted = [Pattern.parse(topic) for topic in topics]
    said = Covering()
    for each in wanted:
        said.want(each)
    assert sorted(said.announced()) == sorted(without_covered(wanted))
    for position, each in enumerate(wanted):
        said.want_no_more(each)
        assert sorted(said.announced()) == sorted(without_covered(wanted[position + 1 :]))
