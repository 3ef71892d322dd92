"""Runs: events of one source that follow each other in their numbers, for the same patterns.

Where nothing is lost, what a frame brings is one run for each topic; and whoever wants to know whether anything is
missing has to look at the ends of a run only.

Owns: where a run ends. Must not know: what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from reknit.model.event import Event

__all__ = ["Run", "one_run", "runs_of"]


class Run(msgspec.Struct, gc=False):
    """``first``, ``last``: the numbers that stand in its events."""

    source: str
    marks: bytes
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1


def one_run(events: Sequence[Event]) -> Run | None:
    """All of them, if they are one run and nothing of their source has been between them, as is most often so."""
    if not events or not events[0].number:
        return None
    source, marks, first = events[0].source, events[0].marks, events[0].number
    lag = first - events[0].seq
    for seq, event in enumerate(events, events[0].seq):
        if event.seq != seq or event.number != seq + lag or event.marks != marks or event.source != source:
            return None
    return Run(source, marks, first, first + len(events) - 1)


def runs_of(events: Iterable[Event]) -> list[Run]:
    """Those that begin first come first. Events without a number are in none.

    Others may stand between the events of a run, but none that is for one of its patterns: then the marks are others.
    """
    found: list[Run] = []
    newest: dict[tuple[str, bytes], Run] = {}
    source, marks, last = "", b"", 0
    run = Run(source, marks, last, last)
    for event in events:
        if event.number == last + 1 and event.marks == marks and event.source == source:
            last += 1
            continue
        run.last = last
        source, marks, last = event.source, event.marks, event.number or 0
        known = newest.get((source, marks))
        if known is not None and known.last + 1 == last:
            run = known
        else:
            run = newest[source, marks] = Run(source, marks, last, last)
            found.append(run)
    run.last = last
    return [each for each in found if each.first]
