"""A violation reads as one line."""

from __future__ import annotations

from reknit.sim.checkers.violation import Violation


def test_it_says_who_found_what_and_when() -> None:
    assert str(Violation("tree", 1.23456, "a cycle: a - b - a")) == "tree at 1.235 s: a cycle: a - b - a"
