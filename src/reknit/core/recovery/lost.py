"""The lost buffer: what is known to be missing, or suspected, and is asked for until it comes or is given up.

An entry is the triple that stands for an event whose content nobody here knows: its source, the pattern that it was
missed for, and its number there. It is asked for again and again, each time after a longer wait, and given up after a
time; or when the buffer is full, the oldest first. What is only hearsay goes before all else, and of one source there
is so much at most: whoever tells of events that never were pushes none out that is known to be missing.

Owns: the entries and when each is to be asked for. Must not know: whom to ask, or how.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

__all__ = ["Loss", "LostBuffer", "Triple"]

Triple = tuple[str, int, int]
"""Source, signature of a pattern, number."""


class Loss:
    """``asked``: how often so far, ``last``: and when, ``whom``: and whom. ``due``: when it is to be asked for next.

    ``elsewhere``: its publisher has said that it will not give it. ``hearsay``: as of a ``Gap``. ``heirs``: clients
    that have heard elsewhere that it is missing, and are to hear what becomes of it, though it is only suspected here.
    """

    __slots__ = ("asked", "due", "elsewhere", "hearsay", "heirs", "last", "since", "suspected", "whom")

    def __init__(self, since: float, suspected: bool, due: float, hearsay: bool = False) -> None:
        self.since = since
        self.suspected = suspected
        self.hearsay = hearsay
        self.asked = 0
        self.last = -math.inf
        self.whom = ""
        self.due = due
        self.elsewhere = False
        self.heirs: tuple[str, ...] = ()


class LostBuffer:
    def __init__(
        self,
        losses_max: int,
        lost_s_max: float,
        wait_s: float,
        backoff: float,
        wait_s_max: float,
        hearsay_max: int,
    ) -> None:
        """``wait_s``: before an entry is asked for again; each time ``backoff`` times as long, up to ``wait_s_max``.

        ``hearsay_max``: entries of one source that are only hearsay.
        """
        self.losses_max = losses_max
        self.hearsay_max = hearsay_max
        self.lost_s_max = lost_s_max
        self.wait_s = wait_s
        self.backoff = backoff
        self.wait_s_max = wait_s_max
        self.hold_s = 0.0  # before an entry is asked for at all
        self.learned_s: float | None = None  # instead of ``wait_s``, as answers take so long
        self.patience = 0  # so often an entry is asked for before the waits grow
        self.is_held: Callable[[int], bool] = lambda _: True  # by signature: whether these three go for its entries
        self.overflowed = 0
        self.removed = 0  # entries so far, for whatever reason
        self.entries: dict[Triple, Loss] = {}
        """The oldest first; asked after every event, whether there is any."""
        self.highest: dict[tuple[str, int], int] = {}
        """By source and signature: no entry has a higher number. Asked after every run, while there is any."""
        self._numbers: dict[int, dict[str, dict[int, Loss]]] = {}  # by signature and source
        self._hearsay: dict[Triple, None] = {}  # the oldest first
        self._hearsay_of: dict[str, dict[Triple, None]] = {}  # the same by source

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, triple: Triple) -> bool:
        return triple in self.entries

    def add(
        self, source: str, signature: int, numbers: Iterable[int], now: float, suspected: bool, hearsay: bool = False
    ) -> list[tuple[Triple, Loss]]:
        """Those that had to make room."""
        hold_s = self.hold_s if self.hold_s and self.is_held(signature) else 0.0
        for number in numbers:
            triple = (source, signature, number)
            known = self.entries.get(triple)
            if known is not None:
                known.suspected = known.suspected and suspected
                if known.hearsay and not hearsay:
                    self._believe(triple, known)
                continue
            loss = self.entries[triple] = Loss(now, suspected, now + hold_s, hearsay)
            if hearsay:
                self._hearsay[triple] = self._hearsay_of.setdefault(source, {})[triple] = None
            self._numbers.setdefault(signature, {}).setdefault(source, {})[number] = loss
            self.highest[source, signature] = max(number, self.highest.get((source, signature), 0))
        return self._make_room(source)

    def _make_room(self, source: str) -> list[tuple[Triple, Loss]]:
        """Those that had to go, of this source and of all."""
        of_source = self._hearsay_of.get(source, {})
        gone = self._take(of_source, len(of_source) - self.hearsay_max)
        gone += self._take(self._hearsay, len(self.entries) - self.losses_max)
        gone += self._take(self.entries, len(self.entries) - self.losses_max)
        self.overflowed += len(gone)
        return gone

    def _take(self, triples: Iterable[Triple], count: int) -> list[tuple[Triple, Loss]]:
        """The first of them are gone from here."""
        taken = [(triple, self.entries[triple]) for triple in islice(triples, max(0, count))]
        for triple, _ in taken:
            self.remove(triple)
        return taken

    def _believe(self, triple: Triple, loss: Loss) -> None:
        """It is hearsay no longer."""
        loss.hearsay = False
        del self._hearsay[triple]
        of_source = self._hearsay_of[triple[0]]
        del of_source[triple]
        if not of_source:
            del self._hearsay_of[triple[0]]

    def newest(self, source: str, signature: int, numbers: Iterable[int], count: int) -> list[int]:
        """At most so many of these, in ascending order; what is only hearsay is left out first."""
        of = self._numbers.get(signature, {}).get(source, {})
        ranked = sorted(numbers, key=lambda number: (number in of and not of[number].hearsay, number))
        return sorted(ranked[-count:]) if count > 0 else []

    def between(self, source: str, signature: int, first: int, last: float) -> list[int]:
        """Those from ``first`` to ``last``: it costs no more than what is missing, nor than what has come."""
        numbers = self._numbers.get(signature, {}).get(source, {})
        if last - first < len(numbers):
            return [number for number in range(first, int(last) + 1) if number in numbers]
        return sorted(number for number in numbers if first <= number <= last)

    def has_any(self, signature: int) -> bool:
        """Whether any of a pattern is certain to be missing."""
        return any(not loss.suspected for of in self._numbers.get(signature, {}).values() for loss in of.values())

    def has_between(self, source: str, signature: int, above: int, below: int) -> bool:
        """Whether any is greater than ``above`` and less than ``below``."""
        return any(above < number < below for number in self._numbers.get(signature, {}).get(source, ()))

    def remove(self, triple: Triple) -> Loss | None:
        loss = self.entries.pop(triple, None)
        if loss is not None:
            self.removed += 1
            if loss.hearsay:
                self._believe(triple, loss)
            source, signature, number = triple
            sources = self._numbers[signature]
            del sources[source][number]
            if not sources[source]:
                del sources[source], self.highest[source, signature]
            if not sources:
                del self._numbers[signature]
        return loss

    def forget(self, signature: int) -> None:
        """Nobody here wants this pattern any more."""
        for source, numbers in list(self._numbers.get(signature, {}).items()):
            for number in list(numbers):
                self.remove((source, signature, number))

    def expired(self, now: float) -> list[tuple[Triple, Loss]]:
        """Those that are given up now; they are gone from here."""
        old = []
        for triple, loss in self.entries.items():
            if now < loss.since + self.lost_s_max:
                break
            old.append((triple, loss))
        for triple, _ in old:
            self.remove(triple)
        return old

    # --- asking

    def signatures(self, now: float) -> list[int]:
        """The patterns of which something is to be asked for now."""
        return [each for each, sources in self._numbers.items() if any(_due(of, now) for of in sources.values())]

    def sources(self, now: float) -> list[str]:
        """The same of sources."""
        found = {name: None for sources in self._numbers.values() for name, of in sources.items() if _due(of, now)}
        return list(found)

    def all_sources(self) -> list[str]:
        """Of which anything is missing."""
        return list({name: None for sources in self._numbers.values() for name in sources})

    def of_pattern(self, signature: int, now: float) -> Iterator[tuple[str, list[int]]]:
        """By source: the numbers that are to be asked for now. Sources of which all is hearsay come last."""
        doubtful = []
        for source, numbers in self._numbers.get(signature, {}).items():
            if due := [number for number, loss in numbers.items() if loss.due <= now]:
                if all(numbers[number].hearsay for number in due):
                    doubtful.append((source, due))
                else:
                    yield source, due
        yield from doubtful

    def due(self, signature: int, now: float) -> Iterator[Triple]:
        """The same, one of each source."""
        return ((source, signature, numbers[0]) for source, numbers in self.of_pattern(signature, now))

    def of_source(self, source: str, now: float) -> Iterator[tuple[int, list[int]]]:
        """The same, by pattern."""
        for signature, sources in self._numbers.items():
            if due := [number for number, loss in sources.get(source, {}).items() if loss.due <= now]:
                yield signature, due

    def ripe(self, source: str, now: float) -> Iterator[tuple[int, list[int]]]:
        """As ``of_source``, with all others that no answer is expected for: their source is asked anyway."""
        for signature, sources in self._numbers.items():
            numbers, wait = sources.get(source, {}), self._wait_s(signature)
            if ripe := [number for number, loss in numbers.items() if min(loss.due, loss.last + wait) <= now]:
                yield signature, ripe

    def is_due(self, triple: Triple, now: float) -> bool:
        loss = self.entries.get(triple)
        return loss is not None and loss.due <= now

    def stubborn(self, after_s: float, now: float) -> list[Triple]:
        """Those that have been missing for so long, and are to be asked for now."""
        return [triple for triple, loss in self.entries.items() if loss.since + after_s <= now and loss.due <= now]

    def ask(self, triple: Triple, now: float, whom: str = "") -> None:
        """It is being asked for: not again before its wait is over."""
        loss = self.entries.get(triple)
        if loss is not None:
            patience = self.patience if self.is_held(triple[1]) else 0
            wait = min(self._wait_s(triple[1]) * self.backoff ** max(0, loss.asked - patience), self.wait_s_max)
            loss.due = now + wait
            loss.last, loss.whom = now, whom
            loss.asked += 1

    def _wait_s(self, signature: int) -> float:
        return self.wait_s if self.learned_s is None or not self.is_held(signature) else self.learned_s

    def rest(self, triple: Triple, now: float) -> None:
        """It is being asked for everywhere: not again before it has been missing for twice as long as now."""
        loss = self.entries.get(triple)
        if loss is not None:
            loss.due = now + (now - loss.since)

    def next_due(self) -> float | None:
        return min((loss.due for loss in self.entries.values()), default=None)

    def next_expiry(self) -> float | None:
        oldest = next(iter(self.entries.values()), None)
        return None if oldest is None else oldest.since + self.lost_s_max


def _due(numbers: dict[int, Loss], now: float) -> bool:
    return any(loss.due <= now for loss in numbers.values())
