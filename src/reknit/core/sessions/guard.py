"""Exactly which events a session has had that has come from elsewhere, where events may be lost and come late.

There the last number of a source says little: what is below it may be missing all the same, and it may come back to the
new broker. So such a session brings along, by source, the *runs* of numbers that it has had, as far as there is room;
of the others the last number has to do, and what is below counts as had (see ``copies``).

For a while the session is *watched*: what it is given here is written down, one by one. For what it lacks may have come
by here before the session did; it is asked for again then, and whether the broker has seen it does not say whether the
session has. If that becomes too much to write down, the watch ends: rather none than twice. And after a time it is a
session like any other: nothing is asked for any more that was published before it came.

Owns: these numbers. Must not know: what is missing, or how it comes back.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from reknit.core.turn import Turn
from reknit.model.event import Event, EventId
from reknit.wire.codec import RUNS_MAX
from reknit.wire.messages import Range

__all__ = ["Guard", "union"]

GIVEN_MAX = 1024
"""Events that are written down of one session."""

_LAST = 2**63


class Guard:
    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.watch_s = 0.0
        """For how long a session is watched that has come, and what it has had is remembered."""
        self._runs: dict[str, dict[str, list[Range]]] = {}  # by client and source
        self._given: dict[str, dict[EventId, None]] = {}  # by client that is watched
        self._until: dict[str, float] = {}  # the first to end first, as all last equally long

    def __bool__(self) -> bool:
        return bool(self._runs or self._given)

    def expect(self, client: str, runs: Mapping[str, Sequence[Range]]) -> None:
        """Its session comes, and has had these."""
        self._runs[client] = {source: list(each) for source, each in runs.items()}
        self._given[client] = {}
        self.remember(client)

    def remember(self, client: str) -> None:
        """What is known of it elsewhere is of use for the same time; ``over`` says when that has passed."""
        self._until.pop(client, None)
        self._until[client] = self.turn.now + self.watch_s

    def remembers(self, client: str) -> bool:
        """Whether what it may lack may still come back."""
        return client in self._until

    def forget(self, client: str) -> None:
        self._runs.pop(client, None)
        self._given.pop(client, None)
        self._until.pop(client, None)

    def over(self) -> list[str]:
        """Sessions that came so long ago that they are like any other; they are forgotten here."""
        old = []
        for client, until in self._until.items():
            if self.turn.now < until:
                break
            old.append(client)
        for client in old:
            self.forget(client)
        return old

    def has_had(self, event: Event, client: str) -> bool | None:
        """None if that is not known so exactly."""
        if not self._runs or (runs := self._runs.get(client, {}).get(event.source)) is None:
            return None
        return _holds(runs, event.seq)

    # --- the watch

    def is_watched(self, client: str) -> bool:
        return client in self._given

    def give(self, event: Event, client: str) -> bool:
        """It is given this event; False if it was before."""
        given = self._given.get(client)
        if given is None:
            return True
        if event.id in given:
            return False
        given[event.id] = None
        if len(given) > GIVEN_MAX:
            del self._given[client]
        return True

    # --- leaving

    def brings(
        self, client: str, seen: Mapping[str, int], before: Mapping[str, int], here: Iterable[tuple[str, list[Range]]]
    ) -> dict[str, list[Range]]:
        """What it has had, when it leaves; as many runs as there is room for.

        ``seen``: by source, the last event that it may have had. ``before``: of these, the last that it may have had
        before it came. ``here``: what came by here. If it is still watched, only what it was given counts of that.
        """
        had = {source: list(runs) for source, runs in self._runs.get(client, {}).items()}
        for source, last in before.items():
            had.setdefault(source, [(1, last)])
        if self.is_watched(client):
            for source in seen:
                had.setdefault(source, [])
            for source, seq in self._given[client]:
                had.setdefault(source, []).append((seq, seq))
        else:
            for source, runs in here:
                had.setdefault(source, []).extend(runs)
        room = RUNS_MAX
        told: dict[str, list[Range]] = {}
        for source, runs in had.items():
            runs = union(runs)
            room -= len(runs) + 1
            if room < 0:
                break
            told[source] = runs
        return told


def union(runs: Iterable[Range]) -> list[Range]:
    """In ascending order, and apart."""
    found: list[Range] = []
    for first, last in sorted(runs):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _holds(runs: list[Range], number: int) -> bool:
    place = bisect_right(runs, (number, _LAST))
    return place > 0 and number <= runs[place - 1][1]
