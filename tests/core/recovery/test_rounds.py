"""Rounds: ours are known by numbers that nobody guesses, those of others are heard once."""

from __future__ import annotations

import random

from reknit.core.recovery.rounds import Rounds
from reknit.wire.codec import INTEGER_MAX


def test_only_what_was_begun_or_expected_is_ours() -> None:
    rounds = Rounds(10, random.Random(1))
    number = rounds.begin()
    assert 0 < number <= INTEGER_MAX
    assert rounds.is_ours(number)
    assert not rounds.is_ours(number + 1)
    rounds.expect(7)
    assert rounds.is_ours(7)


def test_a_round_is_about_what_it_has_offered() -> None:
    rounds = Rounds(10, random.Random(1))
    number, other = rounds.begin(7), rounds.begin()
    rounds.expect(number)  # changes nothing
    rounds.expect(99)
    assert rounds.has_offered(number, 7)
    assert not any(rounds.has_offered(each, signature) for each, signature in ((number, 8), (other, 7), (99, 7)))


def test_a_round_is_heard_once_from_each() -> None:
    rounds = Rounds(10, random.Random(1))
    assert rounds.hear("x", 1)
    assert not rounds.hear("x", 1)
    assert rounds.hear("y", 1)
    assert rounds.hear("x", 2)


def test_memory_is_bounded() -> None:
    rounds = Rounds(2, random.Random(1))
    first = rounds.begin()
    for number in range(3):
        rounds.begin()
        rounds.hear("x", number)
    assert not rounds.is_ours(first)
    assert rounds.hear("x", 0)
    assert not rounds.hear("x", 2)


def test_a_round_has_several_answers_and_each_counts_once() -> None:
    rounds = Rounds(3, random.Random(1))
    assert rounds.is_first(1, 10)
    assert rounds.is_first(1, 11)
    assert rounds.is_first(2, 10)
    assert not rounds.is_first(1, 10)
    assert rounds.is_first(3, 10)
    assert rounds.is_first(1, 10)  # that is too long ago
