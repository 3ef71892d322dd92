"""The event cache: found by number, within bounds, and nothing that is older than the asker's interest."""

from __future__ import annotations

import random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.core.recovery.cache import BATCH_RUNS_MAX, Batch, Cached, EventCache, Part
from reknit.core.recovery.policies import PolicyName, make_policy
from reknit.core.recovery.runs import Run
from reknit.model.event import Event
from reknit.wire.codec import encode
from reknit.wire.marks import numbers_of_event
from reknit.wire.messages import Data, Events
from tests.core.recovery.round_table import numbered

NAMES: tuple[PolicyName, ...] = get_args(PolicyName)


def _find(cache: EventCache, source: str, signature: int, number: int, published_after: float) -> Cached | None:
    (found,) = cache.find(source, signature, [number], published_after)
    return found


def _cache(name: PolicyName = "en-route", events_max: int = 10, bytes_max: int = 1 << 20) -> EventCache:
    return EventCache(make_policy(name, random.Random(1)), events_max, bytes_max)


def _event(seq: int, *numbers: tuple[int, int], source: str = "s", payload: bytes = b"") -> Event:
    return numbered("a", seq, *numbers, source=source, payload=payload)


def test_an_event_is_found_by_each_of_its_numbers() -> None:
    """EPIDEMIC, 4.2: whoever is subscribed to Pb can tell that S:Pb-4 and S:Pa-5 are the same event."""
    cache = _cache()
    event = _event(9, (1, 5), (2, 4))
    cache.put([event], own=True, born=0.0)
    for signature, number in ((1, 5), (2, 4)):
        cached = _find(cache, "s", signature, number, 0.0)
        assert cached is not None
        assert cached.event == event
    assert _find(cache, "s", 1, 4, 0.0) is None
    assert _find(cache, "t", 1, 5, 0.0) is None
    assert sorted(cache.signatures()) == [1, 2]


def test_nobody_gets_what_is_older_than_it_asks_for() -> None:
    cache = _cache()
    cache.put([_event(1, (1, 1))], own=True, born=5.0)
    assert _find(cache, "s", 1, 1, 5.0) is not None
    assert _find(cache, "s", 1, 1, 5.1) is None
    assert list(cache.fresh(1, 5.0)) == [("s", [1])]
    assert list(cache.fresh(1, 5.1)) == []


def test_what_has_no_numbers_cannot_be_found() -> None:
    cache = _cache()
    cache.put([Event("a", source="s", seq=1)], own=True, born=0.0)
    assert cache.signatures() == []


def test_a_frame_is_kept_as_it_came_and_read_when_somebody_asks() -> None:
    cache = _cache(events_max=3)
    frame = encode(Data(1, 1, 0, 0, [Events([_event(seq, (1, seq)) for seq in (1, 2, 3, 4)])]))
    cache.put_frame(frame, 4, own=True, born=5.0)
    assert (len(cache), cache.size) == (3, len(frame))
    assert not cache._numbers
    assert _find(cache, "s", 1, 1, 0.0) is None  # the oldest had to go
    assert [event.seq for event in cache] == [2, 3, 4]
    cache.put([_event(5, (1, 5))], own=True, born=6.0)
    assert [event.seq for event in cache] == [3, 4, 5]
    assert _find(cache, "s", 1, 4, 5.5) is None
    assert _find(cache, "s", 1, 5, 5.5) is not None


def test_what_nobody_asks_for_is_not_even_listed() -> None:
    for name in NAMES:
        cache = _cache(name, events_max=10)
        for seq in range(1, 200):
            cache.put([_event(seq, (1, seq))], own=True, born=0.0)
        assert not cache._numbers
        assert sum(batch.left for batch in cache._unlisted) <= 10
        assert sum(batch.left for batch in cache._open.values()) < cache.policy.batch_max
        assert len(cache.signatures()) == 1
        assert len(cache) == sum(len(numbers) for _, numbers in cache.fresh(1, 0.0)) == 10


def test_only_what_is_young_enough_is_read() -> None:
    """Whoever has just come suspects that the last few were meant for it: the thousands before need no look."""
    cache = _cache("probabilistic", events_max=10)
    for seq in range(1, 6):
        cache.put([_event(seq, (1, seq))], own=True, born=float(seq))
    assert _find(cache, "s", 1, 4, 4.0) is not None
    assert [batch.newest for batch in cache._unlisted if batch.is_unlisted] == [1.0, 2.0, 3.0]
    assert _find(cache, "s", 1, 2, 4.0) is None
    assert _find(cache, "s", 1, 2, 0.0) is not None
    assert not any(batch.is_unlisted for batch in cache._unlisted)


def test_it_knows_since_when_nothing_had_to_go() -> None:
    cache = _cache(events_max=2, bytes_max=500)
    assert cache.keeps_all_since(0.0)
    for seq in range(1, 4):
        cache.put([_event(seq, (1, seq))], own=True, born=float(seq))
        len(cache)
    assert not cache.keeps_all_since(1.0)
    assert cache.keeps_all_since(1.1)
    cache.put([_event(4, (1, 4), payload=bytes(600))], own=True, born=4.0)
    assert not cache.keeps_all_since(4.0)


def test_own_keeps_own_ones_only() -> None:
    cache = _cache("own")
    cache.put([_event(1, (1, 1))], own=False, born=0.0)
    cache.put([_event(2, (1, 2))], own=True, born=0.0)
    assert [event.seq for event in cache] == [2]


def test_it_is_bounded_by_bytes_too() -> None:
    one = len(encode([_event(1, (1, 1), payload=bytes(100))]))
    cache = _cache(bytes_max=2 * one)
    for seq in range(1, 5):
        cache.put([_event(seq, (1, seq), payload=bytes(100))], own=True, born=0.0)
        assert cache.size <= 2 * one
    assert [event.seq for event in cache] == [3, 4]
    cache.put([_event(9, (1, 9), payload=bytes(3 * one))], own=True, born=0.0)
    assert [event.seq for event in cache] == [3, 4]
    assert cache.size == 2 * one


def test_two_events_under_one_number_do_no_harm() -> None:
    for seed in range(4):
        cache = EventCache(make_policy("probabilistic", random.Random(seed)), 2, 1 << 20)
        for seq in (1, 2, 3, 4, 5):
            cache.put([_event(seq, (1, 1), (1, 1))], own=True, born=0.0)
        assert len(cache) == 2


@pytest.mark.parametrize("name", NAMES)
@given(
    st.lists(
        st.tuples(st.sampled_from("st"), st.integers(1, 20), st.sets(st.integers(1, 3), min_size=1), st.booleans())
    ),
    st.booleans(),
)
def test_what_is_listed_is_what_is_kept(
    name: PolicyName, puts: list[tuple[str, int, set[int], bool]], look: bool
) -> None:
    cache = _cache(name, events_max=4)
    known = set()
    for source, seq, signatures, own in puts:
        if (source, seq) in known:
            continue
        known.add((source, seq))
        if look:
            cache.signatures()
        cache.put([_event(seq, *((each, seq) for each in sorted(signatures)), source=source)], own, 0.0)
        assert len(cache) <= 4
    listed = {
        (source, signature, number)
        for signature in cache.signatures()
        for source, numbers in cache.fresh(signature, 0.0)
        for number in numbers
    }
    kept = {(event.source, *number) for event in cache for number in numbers_of_event(event)}
    assert listed == kept


def test_what_cannot_hold_a_number_that_is_asked_for_is_not_read() -> None:
    """A new subscriber asks for the last few before its first: all else stays as it came."""
    cache = _cache(events_max=1000)
    for first in range(1, 801, 100):
        events = [numbered("a", number, (1, number), (2, number + 7)) for number in range(first, first + 100)]
        cache.put_own(events, 5.0, Run("s.1", events[0].marks, first, first + 99))
    assert [each and each.event.seq for each in cache.find("s.1", 1, [250, 251], 0.0)] == [250, 251]
    assert [len(batch.listed or ()) for batch in cache.policy] == [0, 0, 100, 0, 0, 0, 0, 0]
    assert [each and each.event.seq for each in cache.find("s.1", 2, [507], 0.0)] == [500]
    assert [len(batch.listed or ()) for batch in cache.policy] == [0, 0, 100, 0, 100, 0, 0, 0]
    assert cache.find("t.1", 1, [250], 0.0) == cache.find("s.1", 3, [250], 0.0) == [None]
    assert len(list(cache)) == 800


def test_runs_that_go_on_are_one_and_a_batch_of_too_many_may_hold_anything() -> None:
    batch, marks = Batch(True), numbered("a", 1, (1, 1)).marks
    for first in (1, 11, 31):
        batch.add(Part(b"", False, 10, 0.0), 0, Run("s.1", marks, first, first + 9))
    assert batch.runs == [Run("s.1", marks, 1, 20), Run("s.1", marks, 31, 40)]
    assert [batch.may_hold("s.1", 1, number, number) for number in (20, 21, 30, 31)] == [True, False, False, True]
    for first in range(1, 10 * BATCH_RUNS_MAX, 10):
        batch.add(Part(b"", False, 1, 0.0), 0, Run("t.1", marks, first, first))
    assert batch.runs is None
    assert batch.may_hold("s.1", 1, 25, 25)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.sampled_from("stu"), st.integers(1, 6)),
            st.tuples(st.just("find"), st.sampled_from("stu"), st.integers(1, 40)),
            st.tuples(st.just("list"), st.just(""), st.integers(0, 20)),
        ),
        max_size=60,
    )
)
def test_filed_by_its_sources_a_batch_is_found_as_it_is_where_nothing_is_known_of_it(
    steps: list[tuple[str, str, int]],
) -> None:
    filed, unknown = _cache(events_max=9), _cache(events_max=9)
    last = dict.fromkeys("stu", 0)
    for now, (what, source, number) in enumerate(steps):
        if what == "put":
            first, last[source] = last[source] + 1, last[source] + number
            events = [_event(seq, (1, seq), source=source) for seq in range(first, last[source] + 1)]
            run = Run(source, events[0].marks, first, last[source])
            filed.put_own(events, float(now), run)
            unknown.put_own(events, float(now))
        elif what == "list":
            assert [each.event.seq for each in filed.every(now - number)] == [
                each.event.seq for each in unknown.every(now - number)
            ]
        else:
            numbers = range(number, number + 5)
            assert filed.find(source, 1, numbers, now - 15.0) == unknown.find(source, 1, numbers, now - 15.0)


def test_batches_of_other_sources_stay_as_they_came() -> None:
    cache = _cache(events_max=100)
    for seq, source in enumerate("stst", 1):
        cache.put_own([event := _event(seq, (1, seq), source=source)], 0.0, Run(source, event.marks, seq, seq))
        cache._close_all()
    assert _find(cache, "s", 1, 3, 0.0) is not None
    assert {source: len(batches) for source, batches in cache._of_source.items()} == {"s": 1, "t": 2}
    assert [batch.is_unlisted for batch in cache.policy] == [True, True, False, True]
