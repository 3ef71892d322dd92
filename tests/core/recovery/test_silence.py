"""The last event of a burst is announced: once for each pattern, and again after a longer while. Erratum 11."""

from __future__ import annotations

from reknit.core.recovery.silence import Silence


def test_a_pattern_is_announced_when_it_has_been_silent() -> None:
    silence = Silence(1.0, 1)
    silence.spoke([1, 2], 0.0)
    silence.spoke([1], 0.6)
    assert silence.at == 1.0
    assert silence.due(0.9) == []
    assert silence.due(1.0) == [2]
    assert silence.at == 1.6
    assert silence.due(1.6) == [1]
    assert silence.at is None
    assert silence.due(99.0) == []


def test_it_is_said_again_after_a_longer_while_unless_there_was_another_event() -> None:
    silence = Silence(1.0, 3)
    silence.spoke([1, 2], 0.0)
    assert silence.due(1.0) == [1, 2]
    assert silence.at == 5.0
    silence.spoke([2], 1.2)
    assert silence.due(2.2) == [2]
    assert silence.due(4.9) == []
    assert silence.due(5.0) == [1, 2]  # the second would be due at 6.2, and half of that wait is over
    assert silence.at == 21.0
    assert silence.due(21.0) == [1, 2]
    assert silence.at is None


def test_what_has_been_silent_for_half_as_long_is_said_with_the_others() -> None:
    silence = Silence(1.0, 1)
    for place, signature in enumerate((1, 2, 3)):
        silence.spoke([signature], place / 3)
    assert silence.due(1.0) == [1, 2]
    assert silence.at == 2 / 3 + 1.0


def test_never_is_never() -> None:
    silence = Silence(1.0, 0)
    silence.spoke([1], 0.0)
    assert silence.at is None
    assert silence.due(9.0) == []


def test_at_its_end_a_source_says_all_that_was_still_to_be_said_and_nothing_later() -> None:
    silence = Silence(1.0, 2)
    silence.spoke([1], 0.0)
    assert silence.due(1.0) == [1]
    silence.spoke([2], 1.5)
    assert silence.end() == [2, 1]
    assert silence.end() == []
    assert silence.at is None
