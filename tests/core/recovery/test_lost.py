"""The lost buffer: asked for ever more seldom, forgotten when it comes, given up in the end. Erratum 8 of EPIDEMIC."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.recovery.lost import LostBuffer


def _buffer(**bounds: float) -> LostBuffer:
    values = {"losses_max": 100, "lost_s_max": 30.0, "wait_s": 1.0, "backoff": 2.0, "wait_s_max": 4.0}
    values |= {"hearsay_max": 100, **bounds}
    return LostBuffer(**values)  # type: ignore[arg-type]


def test_what_is_lost_is_to_be_asked_for_by_pattern_or_by_source() -> None:
    lost = _buffer()
    lost.add("s", 1, [4, 5], 0.0, suspected=False)
    lost.add("t", 1, [9], 0.0, suspected=False)
    lost.add("s", 2, [7], 0.0, suspected=True)
    assert lost.signatures(0.0) == [1, 2]
    assert lost.sources(0.0) == ["s", "t"]
    assert dict(lost.of_pattern(1, 0.0)) == {"s": [4, 5], "t": [9]}
    assert dict(lost.of_source("s", 0.0)) == {1: [4, 5], 2: [7]}


def test_what_was_asked_for_waits_ever_longer() -> None:
    lost = _buffer()
    lost.add("s", 1, [4], 0.0, suspected=False)
    now, waits = 0.0, []
    for _ in range(5):
        lost.ask(("s", 1, 4), now)
        assert lost.signatures(now) == []
        assert lost.sources(now) == []
        due = lost.next_due()
        assert due is not None
        waits.append(due - now)
        now = due
        assert lost.signatures(now) == [1]
    assert waits == [1.0, 2.0, 4.0, 4.0, 4.0]
    assert now == 15.0
    assert lost.stubborn(15.0, now) == [("s", 1, 4)]
    assert lost.stubborn(15.1, now) == []
    assert lost.stubborn(5.0, now - 0.1) == []
    lost.rest(("s", 1, 4), now)
    lost.rest(("s", 1, 5), now)
    assert lost.next_due() == 30.0
    now = 30.0
    assert lost.is_due(("s", 1, 4), now)
    assert not lost.is_due(("s", 1, 5), now)


def test_what_comes_is_forgotten() -> None:
    lost = _buffer()
    lost.add("s", 1, [4], 0.0, suspected=False)
    assert lost.remove(("s", 1, 4)) is not None
    assert lost.remove(("s", 1, 4)) is None
    assert len(lost) == 0
    assert lost.next_due() is None
    assert lost.next_expiry() is None


def test_what_does_not_come_is_given_up() -> None:
    lost = _buffer(lost_s_max=10.0)
    lost.add("s", 1, [4], 0.0, suspected=False)
    lost.add("s", 1, [5], 3.0, suspected=False)
    assert lost.next_expiry() == 10.0
    assert lost.expired(9.0) == []
    assert [triple for triple, _ in lost.expired(10.0)] == [("s", 1, 4)]
    assert ("s", 1, 5) in lost


def test_the_oldest_makes_room() -> None:
    lost = _buffer(losses_max=2)
    lost.add("s", 1, [1, 2], 0.0, suspected=False)
    assert [triple for triple, _ in lost.add("s", 1, [3], 1.0, suspected=False)] == [("s", 1, 1)]
    assert lost.overflowed == 1
    assert dict(lost.of_pattern(1, 1.0)) == {"s": [2, 3]}


def test_a_suspicion_becomes_a_certainty_and_not_the_other_way() -> None:
    lost = _buffer()
    lost.add("s", 1, [1], 0.0, suspected=True)
    lost.add("s", 1, [1], 0.0, suspected=False)
    lost.add("s", 1, [1], 0.0, suspected=True)
    loss = lost.remove(("s", 1, 1))
    assert loss is not None
    assert not loss.suspected


def test_a_pattern_that_nobody_wants_any_more_is_forgotten() -> None:
    lost = _buffer()
    lost.add("s", 1, [1, 2], 0.0, suspected=False)
    lost.add("s", 2, [1], 0.0, suspected=False)
    lost.forget(1)
    lost.forget(3)
    assert lost.signatures(0.0) == [2]
    assert len(lost) == 1


triples = st.tuples(st.sampled_from("st"), st.integers(1, 2), st.integers(1, 6))


@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "ask"]), triples)))
def test_it_is_a_set_of_triples(deeds: list[tuple[str, tuple[str, int, int]]]) -> None:
    lost, known = _buffer(), set()
    for deed, (source, signature, number) in deeds:
        triple = (source, signature, number)
        if deed == "add":
            lost.add(source, signature, [number], 0.0, suspected=False)
            known.add(triple)
        elif deed == "remove":
            lost.remove(triple)
            known.discard(triple)
        else:
            lost.ask(triple, 0.0)
    found = {
        (source, signature, number)
        for signature in (1, 2)
        for source, numbers in lost.of_pattern(signature, 99.0)
        for number in numbers
    }
    assert found == known
    assert len(lost) == len(known)


@given(st.sets(st.integers(1, 30)), st.integers(1, 30), st.integers(0, 30))
def test_what_is_missing_between_two_numbers(missing: set[int], first: int, more: int) -> None:
    lost = LostBuffer(100, 10.0, 1.0, 1.0, 1.0, 100)
    lost.add("s", 7, sorted(missing), 0.0, suspected=False)
    lost.add("t", 7, [first], 0.0, suspected=False)
    assert lost.between("s", 7, first, first + more) == [n for n in range(first, first + more + 1) if n in missing]
    assert lost.between("s", 8, first, first + more) == []


def test_of_what_is_missing_the_highest_number_is_known_as_long_as_there_is_any() -> None:
    lost = _buffer()
    lost.add("s.1", 5, [3, 9], 0.0, suspected=False)
    lost.add("s.1", 5, [4], 0.0, suspected=False)
    assert lost.highest == {("s.1", 5): 9}
    for number in (9, 3):
        lost.remove(("s.1", 5, number))
    assert lost.highest == {("s.1", 5): 9}  # no entry has a higher one; that it has one is not said
    lost.remove(("s.1", 5, 4))
    assert lost.highest == {}


def test_what_is_only_hearsay_makes_room_first() -> None:
    lost = _buffer(losses_max=5)
    lost.add("s", 1, [1, 2], 0.0, suspected=False)
    lost.add("s", 1, [3], 0.0, suspected=True)
    gone = lost.add("s", 1, [100, 101, 102, 103], 0.0, suspected=True, hearsay=True)
    assert [triple[2] for triple, _ in gone] == [100, 101]
    gone = lost.add("s", 1, [4, 5, 6], 0.0, suspected=False)
    assert [triple[2] for triple, _ in gone] == [102, 103, 1]
    assert [number for _, _, number in lost.entries] == [2, 3, 4, 5, 6]


def test_of_one_source_there_is_so_much_hearsay_at_most() -> None:
    lost = _buffer(hearsay_max=3)
    lost.add("t", 1, [7], 0.0, suspected=True, hearsay=True)
    for number in (10, 20, 30):
        lost.add("s", number, range(number, number + 2), 0.0, suspected=True, hearsay=True)
    assert [(source, number) for source, _, number in lost.entries] == [("t", 7), ("s", 21), ("s", 30), ("s", 31)]


def test_what_turns_out_to_be_missing_is_hearsay_no_longer() -> None:
    lost = _buffer(losses_max=4, hearsay_max=2)
    lost.add("s", 1, [5, 6], 0.0, suspected=True, hearsay=True)
    lost.add("s", 1, [5], 0.0, suspected=False)
    lost.add("s", 1, [7, 8], 0.0, suspected=True, hearsay=True)
    assert [(number, loss.suspected) for (_, _, number), loss in lost.entries.items()] == [
        (5, False),
        (7, True),
        (8, True),
    ]
    lost.add("s", 1, [8], 0.0, suspected=True, hearsay=True)
    assert lost.entries["s", 1, 8].hearsay
    lost.remove(("s", 1, 7))
    gone = lost.add("s", 1, [9, 10, 11], 0.0, suspected=False)
    assert [triple[2] for triple, _ in gone] == [8]


def test_what_is_only_hearsay_is_asked_for_last() -> None:
    lost = _buffer()
    lost.add("t", 1, [900], 0.0, suspected=True, hearsay=True)
    lost.add("s", 1, [800, 801], 0.0, suspected=True, hearsay=True)
    lost.add("s", 1, [4, 5], 0.0, suspected=True)
    assert [source for source, _ in lost.of_pattern(1, 0.0)] == ["s", "t"]
    assert lost.newest("s", 1, [800, 801, 4, 5], 3) == [4, 5, 801]
    assert lost.newest("s", 1, [800, 801, 4, 5], 1) == [5]
    assert lost.newest("s", 1, [4], 0) == []
