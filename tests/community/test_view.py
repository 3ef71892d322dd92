"""A table of peers: each once, never oneself, within its bound."""

from __future__ import annotations

import random
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from reknit.community.view import View

ACTS = st.lists(st.tuples(st.sampled_from(("add", "drop", "expire")), st.integers(0, 6), st.floats(0, 10)), max_size=60)


@given(ACTS)
def test_whatever_happens_nobody_is_there_twice_nor_oneself_nor_too_many(acts: list[tuple[str, int, float]]) -> None:
    view = View("p0", 4)
    for act, number, time in acts:
        peer = f"p{number}"
        if act == "add":
            is_new = peer != "p0" and peer not in view and not view.is_full()
            assert view.add(peer, time) is is_new
        elif act == "drop":
            was_there = peer in view
            assert view.drop(peer) is was_there
        else:
            view.expire(time)
            assert view.next_end() > time
        members = list(view)
        assert view.next_end() == min(map(view.until, members), default=inf)
        assert "p0" not in members
        assert len(set(members)) == len(members) <= 4


def test_who_is_there_already_stays_for_the_longer_time() -> None:
    view = View("me", 4)
    assert view.add("a", 5.0)
    assert not view.add("a", 9.0)
    assert not view.add("a", 1.0)
    assert view.until("a") == 9.0
    assert view.expire(8.9) == []
    assert view.expire(9.0) == ["a"]


def test_a_sample_has_each_once_and_all_where_there_are_few() -> None:
    view = View("me", 10)
    for name in "abcdef":
        view.add(name)
    chosen = view.sample(random.Random(1), 4)
    assert len(set(chosen)) == 4
    assert view.sample(random.Random(1), 99) == list("abcdef")
    assert view.one(random.Random(1), *"abcde") == "f"
    assert view.one(random.Random(1), *"abcdef") is None
