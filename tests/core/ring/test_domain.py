from __future__ import annotations

from reknit.core.ring.domain import Domain


def domain() -> Domain:
    """Of a broker at 10, on a ring of 64 keys."""
    return Domain(10, handover_s=5.0, bits=6)


def test_the_first_one_knows_all_keys() -> None:
    first = domain()
    first.found()
    assert all(first.knows(key) for key in range(64))
    first.claim(60, 0.0)
    assert [key for key in range(64) if first.knows(key)] == [*range(11), 61, 62, 63]
    assert first.deadline is None


def test_who_comes_to_own_keys_waits_until_they_are_handed_over() -> None:
    comer = domain()
    comer.claim(5, 0.0)
    assert not comer.knows(7)
    assert comer.deadline == 5.0
    comer.handed(5, 10)
    assert comer.knows(7)
    assert not comer.knows(5)
    assert comer.deadline is None


def test_or_for_a_while() -> None:
    comer = domain()
    comer.claim(5, 1.0)
    assert not comer.due(5.9)
    assert comer.due(6.0)
    assert comer.knows(7)


def test_what_is_handed_over_must_reach_as_far_as_what_is_owned() -> None:
    comer = domain()
    comer.claim(2, 0.0)
    comer.handed(5, 10)
    assert comer.knows(7)
    assert not comer.knows(4)
    assert comer.deadline is not None
    comer.handed(2, 5)
    assert comer.knows(4)
    assert comer.deadline is None


def test_one_that_leaves_hands_over_before_its_keys_are_claimed() -> None:
    heir = domain()
    heir.found()
    heir.claim(5, 0.0)
    heir.handed(2, 5)
    heir.claim(2, 1.0)
    assert heir.knows(4)
    assert heir.deadline is None


def test_more_keys_after_a_death_are_not_known_and_the_old_ones_are() -> None:
    heir = domain()
    heir.found()
    heir.claim(5, 0.0)
    heir.claim(None, 1.0)
    heir.claim(2, 2.0)
    assert heir.knows(6)
    assert not heir.knows(4)
    assert heir.deadline == 7.0
    heir.forget()
    assert not heir.knows(6)


def test_what_was_handed_over_and_is_another_ones_is_to_be_handed_on() -> None:
    comer = domain()
    comer.handed(60, 10)
    comer.claim(5, 0.0)
    assert (comer.knows(7), comer.knows(4), comer.deadline) == (True, False, None)
    assert comer.spare() == 60
    assert comer.spare() is None


def test_so_is_what_is_not_owned_any_more() -> None:
    first = domain()
    first.found()
    first.claim(60, 0.0)
    assert first.spare() == 10
    first.claim(5, 0.0)
    assert first.spare() == 60
    first.claim(5, 0.0)
    assert first.spare() is None
