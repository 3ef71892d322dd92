"""What a session lacks goes with it: its new broker, or the next life of its own, goes on to ask.

The old one tells since when the session wants what it wants, and for each stream of these patterns (see ``streams``)
the last number and what is missing before it; and once more when the session is gone, for what came back to it on the
last stretch it could not deliver any more. The new one takes these wishes for as old as they are. It gives the
session what is in its own cache, and what is not there it misses from now on itself; also what it has had, but not
kept. Whether the session has had an event, the ``guard`` of sessions knows.

A next life, which a store has told that it has sessions, knows when the one before has written something down last. By
then all of them wanted what they want; so they are to get what was published since. What the one before was missing it
does not know.

Owns: what is told and what follows from it. Must not know: how a session moves, or what it has had.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.ranges import numbers_of, to_ranges
from reknit.core.routing.table import client as client_hop
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.wire.codec import RUNS_MAX
from reknit.wire.marks import numbers_of_event
from reknit.wire.messages import Age, Lack

__all__ = ["Heritage"]

UNDER_WAY_S = 1.0
"""A question says how old a wish is, and is under way for a while. A wish of which that is known only at the least
counts as older by so much, or what was published just behind a broker's death would be too old for the question."""


class Heritage:
    def __init__(self, talk: Talk) -> None:
        self.talk = talk

    # --- at the old broker

    def of(self, client: str, aside: Iterable[Event] = ()) -> tuple[list[Age], list[Lack]]:
        """Of the streams as many as there is room for. ``aside``: what has come here, but not to the session."""
        talk, now = self.talk, self.talk.turn.now
        signatures = {talk.signatures.of[pattern]: pattern for pattern in talk.table.of(client_hop(client))}
        wanted = talk.signatures.wanted_since
        ages = [
            (signature, now - wanted(client, pattern), now - wanted(client, pattern, 1))
            for signature, pattern in signatures.items()
        ]
        came: dict[tuple[str, int], list[int]] = {}
        for event in aside:
            for signature, number in numbers_of_event(event):
                came.setdefault((event.source, signature), []).append(number)
        return ages[:RUNS_MAX], self._lacks(client, signatures, came)

    def _lacks(self, client: str, signatures: Container[int], came: Mapping[tuple[str, int], list[int]]) -> list[Lack]:
        room = RUNS_MAX
        lacks: list[Lack] = []
        for (source, signature), top in self._tops().items():
            if signature in signatures:
                some = list(self._lacks_of(client, source, signature, top, came.get((source, signature), ())))
                room -= sum(len(missing) + 1 for *_, missing in some)
                if room < 0:
                    break
                lacks += some
        return lacks

    def _lacks_of(self, client: str, source: str, signature: int, top: int, came: Iterable[int]) -> Iterator[Lack]:
        """With the last number goes what the client has heard of as missing; without any, what else it may lack."""
        entries = self.talk.lost.entries
        lost = self.talk.lost.between(source, signature, 1, math.inf)
        losses = {number: entries[source, signature, number] for number in lost}
        told = {number for number, loss in losses.items() if top and (client in loss.heirs or not loss.suspected)}
        if top:
            yield source, signature, top, to_ranges(told)
        if rest := {*lost, *came} - told:
            yield source, signature, 0, to_ranges(rest)

    def _tops(self) -> dict[tuple[str, int], int]:
        """By source and signature; 0 for those of which nothing has come, and which are missed all the same."""
        tops = dict(self.talk.streams.tops(self.talk.signatures.own))
        return tops | {key: 0 for key in self.talk.lost.highest if key not in tops}

    # --- in the next life

    def recall(self, client: str, pattern: Pattern, since: float) -> None:
        """A life before knew by then that it wants this: what was published while nobody was here is for it."""
        signatures = self.talk.signatures
        signatures.recall(client, pattern, since - UNDER_WAY_S)
        if (signature := signatures.of.get(pattern)) in signatures.own:
            self.talk.streams.recalled[signature] = signatures.own[signature]

    def settle(self, client: str) -> None:
        """It is too late for what was before it came here, or before this life: it is a client like any other."""
        talk = self.talk
        talk.signatures.settle(client)
        for pattern in talk.table.of(client_hop(client)):
            talk.streams.recalled.pop(talk.signatures.of[pattern], None)

    # --- at the new one

    def expect(self, client: str, ages: Iterable[Age]) -> None:
        """Its wishes are so old."""
        for signature, age_s, surely_s in ages:
            if (pattern := self.talk.signatures.patterns.get(signature)) is not None:
                self.talk.signatures.inherit(client, pattern, age_s, surely_s)

    def take(
        self, client: str, lacks: Sequence[Lack], has_had: Callable[[Event], bool]
    ) -> list[tuple[Event, tuple[Pattern, ...]]]:
        """Miss what it lacks. What is kept that it wants and has not had, the oldest first, is for it."""
        left = self.talk.options.losses_max // 2
        for source, signature, top, ranges in lacks:
            epoch = self.talk.signatures.own.get(signature)
            if epoch is not None and source != self.talk.source:
                numbers = [*numbers_of(ranges, left), *self._since(source, signature, top, epoch)][: max(0, left)]
                left -= len(numbers)
                missing = self._miss(source, signature, numbers)
                if top:
                    self._report(client, source, signature, [*numbers_of(ranges, len(numbers))], missing)
        return self._kept_for(client, has_had)

    def _since(self, source: str, signature: int, top: int, epoch: int) -> Iterable[int]:
        """The numbers above its last one of which we know that they have been; from the first on nobody knows."""
        if not top:
            return ()
        ours = self.talk.streams.begin(source, signature, top, epoch)
        if ours < top:
            self.talk.announced(source, signature, top, self.talk.options.hearsay_max)
        return range(max(top, ours - self.talk.options.gap_max) + 1, ours + 1)

    def _miss(self, source: str, signature: int, numbers: Iterable[int]) -> list[int]:
        """Those that are not kept here."""
        talk = self.talk
        some = list(numbers)
        kept = talk.cache.find(source, signature, some, -math.inf)
        missing = [number for number, each in zip(some, kept, strict=True) if each is None]
        talk.given_up(talk.lost.add(source, signature, missing, talk.turn.now, suspected=True))
        return missing

    def _report(self, client: str, source: str, signature: int, told: list[int], missing: Container[int]) -> None:
        """It has heard that these are missing, and hears what becomes of them: now, or when it is known."""
        kept = [number for number in told if number not in missing]
        self.talk.tell_clients(signature, source, kept, "recovered", (client,))
        for number in told:
            loss = self.talk.lost.entries.get((source, signature, number))
            if loss is not None and client not in loss.heirs:
                loss.heirs = (*loss.heirs, client)

    def _kept_for(self, client: str, has_had: Callable[[Event], bool]) -> list[tuple[Event, tuple[Pattern, ...]]]:
        talk = self.talk
        patterns = list(talk.table.of(client_hop(client)))
        found = {}
        for pattern in patterns:
            wanted_since = talk.signatures.wanted_since
            for cached in talk.cache.kept(talk.signatures.of[pattern], wanted_since(client, pattern, 1)):
                event = cached.event
                alone = event.sharing is not None and event.sharing.alone
                if not alone and cached.born >= wanted_since(client, pattern, event.qos) and not has_had(event):
                    found[event.id] = cached
        events = [found[ident].event for ident in sorted(found, key=lambda ident: (found[ident].born, ident))]
        return [(event, tuple(each for each in patterns if each.matches(event))) for event in events]
