"""Who else wants the same: known by its own questions, and reached where its events say."""

from __future__ import annotations

from reknit.core.recovery.fellows import FELLOWS_MAX, Fellows


def test_only_who_has_said_where_it_is_can_be_asked() -> None:
    fellows = Fellows(10)
    fellows.met("f", 1)
    assert fellows.of(1) == []
    fellows.found("f", "f.1")
    assert fellows.of(1) == ["f"]
    assert fellows.of(2) == []


def test_of_each_pattern_so_many_are_known_those_that_were_met_last() -> None:
    fellows = Fellows(1000)
    for number in range(FELLOWS_MAX + 2):
        fellows.found(f"f{number}", f"f{number}.1")
        fellows.met(f"f{number}", 1)
        fellows.met("f0", 1)
    assert len(fellows.of(1)) == FELLOWS_MAX
    assert "f0" in fellows.of(1)
    assert "f1" not in fellows.of(1)


def test_there_is_a_bound_of_patterns_and_of_sources() -> None:
    fellows = Fellows(2)
    for number in range(3):
        fellows.found(f"f{number}", f"f{number}.1")
    assert list(fellows.source_of) == ["f1", "f2"]
    for signature in range(5000):
        fellows.met("f2", signature)
    assert fellows.of(0) == []
    assert fellows.of(4999) == ["f2"]
