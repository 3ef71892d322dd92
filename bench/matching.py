"""Matching: the index beside the plain scan, in the same run, on the same patterns and events.

A pattern has five ranges, one per attribute; an event has five integers. The ends of a range are drawn so that it spans
up to half of the line, which lets about one pattern in a thousand match. The scan has a compiled test per pattern and
stops at the first range that fails, so it is an honest peer. Index and scan take turns; CPU time counts, and only their
ratio is a result.

Owns: this workload. Must not know: how an index works inside.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Sequence

import psutil

from bench.rows import INFORMATION, Row
from reknit.model.event import Event
from reknit.model.index import MatchingIndex, ScanIndex
from reknit.model.pattern import Pattern
from reknit.model.selector import condition_of

__all__ = ["main", "run"]

SEED = 20
NAMES = ("a", "b", "c", "d", "e")
SPAN = 1_000_000
AT_LEAST = {10_000: 40.0, 100_000: 100.0}
UPDATE_S_MAX = 0.001
TURNS = 5


def run(quick: bool = False) -> list[Row]:
    """The rows of this program; ``quick`` stays at 10,000 patterns."""
    rows: list[Row] = []
    for count in (10_000,) if quick else (10_000, 100_000):
        rows += _ranges(count)
    many = 10_000 if quick else 30_000
    return [*rows, _topics(many), _equalities(many)]


def _ranges(count: int) -> list[Row]:
    rng = random.Random(SEED)
    patterns = _patterns(rng, count)
    index, scan = MatchingIndex(), ScanIndex()
    before = _resident_bytes()
    readings, inserts = zip(*(_insert(index, pattern) for pattern in patterns), strict=True)
    grown = _resident_bytes() - before
    for pattern in patterns:
        scan.add(pattern)
    events = [_event(rng) for _ in range(400)]
    _must_agree(index, scan, events[:3])
    ratio, rate, matched = _race(index, scan, events)
    removals = [_timed(lambda pattern=pattern: index.remove(pattern)) for pattern in rng.sample(patterns, count // 2)]
    label = f"matching, {count:,} patterns of 5 ranges"
    note = f"{rate:,.0f} events/s of CPU, {matched:.0f} matches each; the index takes {grown / 2**20:.0f} MiB"
    return [
        Row(label, "plain scan = 1", AT_LEAST[count], ratio, note),
        Row(label, "tuple scan = 1", INFORMATION, rate * _tuple_scan_s(patterns, events), _TUPLE_SCAN),
        _updates(f"insert into the index, mean, at {count:,} patterns", inserts, _reading(readings)),
        _updates(f"removal from the index, mean, at {count:,} patterns", removals),
    ]


def _patterns(rng: random.Random, count: int) -> list[Pattern]:
    """Canonical texts are written directly: reading them is not what is measured here."""
    return [Pattern("t", " AND ".join(_range(rng, name) for name in NAMES)) for _ in range(count)]


def _range(rng: random.Random, name: str) -> str:
    width = rng.randrange(SPAN // 2)
    low = rng.randrange(SPAN - width)
    return f"{name} <= {low + width} AND {name} >= {low}"


def _event(rng: random.Random) -> Event:
    return Event("t", attributes={name: rng.randrange(SPAN) for name in NAMES})


def _insert(index: MatchingIndex, pattern: Pattern) -> tuple[float, float]:
    """Seconds to read a pattern's text, and to enter it: a subscription has been read when it comes to the index."""
    return _timed(lambda: condition_of(pattern.selector)), _timed(lambda: index.add(pattern))


def _timed(action: Callable[[], object]) -> float:
    begin = time.process_time()
    action()
    return time.process_time() - begin


def _must_agree(index: MatchingIndex, scan: ScanIndex, events: Sequence[Event]) -> None:
    for event in events:
        if sorted(index.match(event)) != sorted(scan.match(event)):
            raise AssertionError(f"index and scan disagree about {event}")


def _race(index: MatchingIndex, scan: ScanIndex, events: Sequence[Event]) -> tuple[float, float, float]:
    """The scan's time per event over the index's, the index's events per second, and matches per event."""
    gc.collect()
    slow_events = events[: max(1, len(events) * 1000 // len(index) // TURNS)]
    quick_s, slow_s, matched = 0.0, 0.0, 0
    for _ in range(TURNS):
        quick_s += _timed(lambda: [index.match(event) for event in events])
        slow_s += _timed(lambda: [scan.match(event) for event in slow_events])
    matched = sum(len(index.match(event)) for event in events)
    per_event_s = quick_s / (TURNS * len(events))
    return slow_s / (TURNS * len(slow_events)) / per_event_s, 1 / per_event_s, matched / len(events)


_TUPLE_SCAN = "a loop written for just these five integer ranges, which knows no types, names or missing attributes"


def _tuple_scan_s(patterns: Sequence[Pattern], events: Sequence[Event]) -> float:
    """Seconds per event of the least that a scan in Python can do: a bound on how slow the general one is."""
    rows = [tuple(int(word) for word in pattern.selector.split() if word.isdigit()) for pattern in patterns]

    def scan(event: Event) -> list[int]:
        a, b, c, d, e = (event.attributes[name] for name in NAMES)
        return [
            number
            for number, (a1, a0, b1, b0, c1, c0, d1, d0, e1, e0) in enumerate(rows)
            if a0 <= a <= a1 and b0 <= b <= b1 and c0 <= c <= c1 and d0 <= d <= d1 and e0 <= e <= e1
        ]

    some = events[: max(3, 300_000 // len(rows))]
    return _timed(lambda: [scan(event) for event in some]) / len(some)


def _updates(label: str, durations: Sequence[float], beside: str = "") -> Row:
    """How many times the mean update fits into the millisecond that it may take; the note tells of the slow ones."""
    durations_s = sorted(durations)
    mean_s = sum(durations_s) / len(durations_s)
    over = sum(duration_s > UPDATE_S_MAX for duration_s in durations_s) / len(durations_s)
    note = f"{_mean_and_p99(durations_s)}, max {durations_s[-1] * 1e3:.1f} ms; {over:.2%} over 1 ms{beside}"
    return Row(label, "1 ms = 1", 1.0, UPDATE_S_MAX / mean_s, note)


def _reading(durations: Sequence[float]) -> str:
    return f"; reading the selector before it: {_mean_and_p99(sorted(durations))}"


def _mean_and_p99(durations_s: Sequence[float]) -> str:
    mean_s = sum(durations_s) / len(durations_s)
    return f"mean {mean_s * 1e6:.0f} us, p99 {durations_s[int(0.99 * len(durations_s))] * 1e6:.0f} us"


def _topics(count: int) -> Row:
    """The other extreme: as many filters as patterns, each with a selector of its own."""
    rng = random.Random(SEED)
    patterns = [Pattern(f"site/{number}/+", _range(rng, "a")) for number in range(count)]
    events = [Event(f"site/{rng.randrange(count)}/x", attributes={"a": rng.randrange(SPAN)}) for _ in range(400)]
    return _information(f"matching, {count:,} topic filters with a range each", patterns, events)


def _equalities(count: int) -> Row:
    """One filter, and each pattern after one device."""
    rng = random.Random(SEED)
    patterns = [Pattern("t", f"{_range(rng, 'a')} AND device = {number}") for number in range(count)]
    events = [Event("t", attributes={"a": rng.randrange(SPAN), "device": rng.randrange(count)}) for _ in range(400)]
    return _information(f"matching, {count:,} devices under one filter", patterns, events)


def _information(label: str, patterns: list[Pattern], events: list[Event]) -> Row:
    index, scan = MatchingIndex(), ScanIndex()
    for pattern in patterns:
        index.add(pattern)
        scan.add(pattern)
    _must_agree(index, scan, events[:3])
    ratio, rate, _ = _race(index, scan, events)
    return Row(label, "plain scan = 1", INFORMATION, ratio, f"{rate:,.0f} events/s of CPU")


def _resident_bytes() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def main() -> None:
    for row in run(quick="--quick" in sys.argv):
        print(f"{row.measure:58} {row.measured:9.1f}  (at least {row.at_least:g})  {row.note}")


if __name__ == "__main__":
    main()
