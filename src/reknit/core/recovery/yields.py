"""What is missing, by the brokers that may give it: how much each is expected to, and what to ask it for.

Owns: the choice of ``auto`` for one round. Must not know: how a question is put, or what becomes of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.lost import Loss, Triple

__all__ = ["Lacking"]

FELLOWS_ASKED_MAX = 2
"""Fellows that are asked for an event, one after the other, before its publisher is."""

ByPattern = dict[int, list[int]]
"""Numbers of one source, by the signature of a pattern."""


class Lacking:
    """All that no answer is expected for, due or not: whoever is asked for what is due is asked for the rest, too."""

    def __init__(self, talk: Talk, concerns: Callable[[int], bool], is_elsewhere: Callable[[Triple], bool]) -> None:
        self.talk = talk
        self._of: dict[str, dict[int, dict[int, Loss]]] = {}  # by source and signature
        self._fresh: Counter[int] = Counter()  # by signature: how many of them fellows may be asked for
        self._due: Counter[str] = Counter()  # by source: how many have to be asked for now
        self._due_fresh: Counter[int] = Counter()  # by signature: both
        self._asked: set[str] = set()
        for source in talk.lost.all_sources():
            if source in talk.routes:
                self._gather(source, concerns, is_elsewhere)

    def best(self) -> str | None:
        """The broker that is expected to give most, and something that is due; None if there is none."""
        gains = {name: self._gain(name) for name in self._askable()}
        return max(gains, key=gains.__getitem__, default=None)

    def take(self, name: str, numbers_max: int) -> tuple[ByPattern, dict[str, ByPattern]]:
        """What to ask it for: of its own events, and of others', by source. It is not lacking any more."""
        self._asked.add(name)
        own_source = self.talk.fellows.source_of[name]
        own, left = self._take(own_source, list(self._of.get(own_source, ())), numbers_max, lambda _: True)
        others: dict[str, ByPattern] = {}
        if patterns := self._shared_with(name):
            for source in self._of:
                some, left = self._take(source, patterns, left, lambda loss: _is_fresh(loss) and loss.whom != name)
                if some:
                    others[source] = some
        return own, others

    # --- inside

    def _gather(self, source: str, concerns: Callable[[int], bool], is_elsewhere: Callable[[Triple], bool]) -> None:
        talk, now = self.talk, self.talk.turn.now
        for signature, numbers in talk.lost.ripe(source, now):
            if not concerns(signature):
                continue
            here = [number for number in numbers if not is_elsewhere((source, signature, number))]
            losses = {number: talk.lost.entries[source, signature, number] for number in here}
            if losses:
                self._of.setdefault(source, {})[signature] = losses
                for loss in losses.values():
                    self._count(source, signature, loss, 1)

    def _count(self, source: str, signature: int, loss: Loss, more: int) -> None:
        fresh, due = _is_fresh(loss), loss.due <= self.talk.turn.now
        self._fresh[signature] += more * fresh
        self._due[source] += more * due
        self._due_fresh[signature] += more * (due and fresh)

    def _askable(self) -> list[str]:
        """In an order that is the same in each run."""
        talk = self.talk
        publishers = [talk.routes[source][0][-1] for source, due in self._due.items() if due]
        fellows = [name for signature, due in self._due_fresh.items() if due for name in talk.fellows.of(signature)]
        known = talk.fellows.source_of
        names = dict.fromkeys([*publishers, *fellows])
        return [name for name in names if name not in self._asked and known.get(name) in talk.routes]

    def _shared_with(self, name: str) -> list[int]:
        fellows = self.talk.fellows
        return [signature for signature, fresh in self._fresh.items() if fresh and name in fellows.of(signature)]

    def _gain(self, name: str) -> float:
        own = sum(map(len, self._of.get(self.talk.fellows.source_of[name], {}).values()))
        others = sum(self._fresh[signature] for signature in self._shared_with(name))
        return self.talk.asks.answered * own + self.talk.asks.share(name) * others

    def _take(
        self, source: str, patterns: list[int], left: int, which: Callable[[Loss], bool]
    ) -> tuple[ByPattern, int]:
        """At most so many; and how many more there is room for."""
        found: ByPattern = {}
        for signature in patterns:
            losses = self._of.get(source, {}).get(signature, {})
            some = [number for number, loss in losses.items() if which(loss)]
            chosen = self.talk.lost.newest(source, signature, some, left)
            for number in chosen:
                self._count(source, signature, losses.pop(number), -1)
            if chosen:
                found[signature] = chosen
                left -= len(chosen)
        return found, left


def _is_fresh(loss: Loss) -> bool:
    """Whether fellows may be asked for it: it is sure to have been, and they have not been asked too often."""
    return loss.asked < FELLOWS_ASKED_MAX and not loss.suspected
