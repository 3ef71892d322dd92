"""Digests: many numbers in few words.

Losses come in runs, and so do the events that a cache holds; so a digest names the first and the last number of each
run. Whoever reads one from elsewhere takes no more numbers from it than it wants to: a run of a billion costs nothing.

Owns: this arithmetic. Must not know: what is numbered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reknit.wire.messages import Range

__all__ = ["count", "numbers_of", "parted", "to_ranges"]


def to_ranges(numbers: Iterable[int]) -> list[Range]:
    """The runs of these numbers, in ascending order."""
    ranges: list[Range] = []
    for number in sorted(set(numbers)):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges


def count(ranges: Iterable[Range]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def parted(ranges: Iterable[Range], at: float) -> tuple[list[Range], list[Range]]:
    """Those up to that number, and those above."""
    below, above = [], []
    for first, last in ranges:
        if first <= at:
            below.append((first, int(min(last, at))))
        if last > at:
            above.append((int(max(first, at + 1)), last))
    return below, above


def numbers_of(ranges: Sequence[Range], numbers_max: int) -> Iterator[int]:
    """At most so many of the numbers, the newest first: those are what somebody is likeliest to have."""
    left = numbers_max
    for first, last in reversed(ranges):
        yield from range(last, max(first, last - left + 1) - 1, -1)
        left -= last - first + 1
        if left <= 0:
            return
