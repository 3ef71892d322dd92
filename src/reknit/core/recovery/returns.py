"""Events that have come back: answers to our questions, past the tree.

An answer must name a round of ours, and counts as far as it brings what is missed here. What comes back has not been
here before, unless it is missed for somebody who has come later; and is not looked at for the way that it took.

Owns: what an answer changes. Must not know: who was asked, or how an event is delivered.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.history import History
from reknit.core.recovery.ranges import numbers_of
from reknit.model.event import Event
from reknit.trace.records import Kind
from reknit.wire.marks import numbers_of_event
from reknit.wire.messages import Repair

__all__ = ["Returned", "Returns"]


class Returned(NamedTuple):
    event: Event
    born: float
    """When it was published."""
    new: bool
    """Whether it has not been here before."""


class Returns:
    def __init__(self, talk: Talk, history: History) -> None:
        self.turn = talk.turn
        self.talk = talk
        self.history = history

    def repaired(self, repair: Repair, mark: int) -> Iterator[Returned]:
        """The events that have come back. ``mark``: stands for all that the answer says; each counts once."""
        talk = self.talk
        if not talk.rounds.is_ours(repair.round):
            talk.figures.unasked += 1
            return
        if not talk.rounds.is_first(repair.round, mark):
            talk.figures.replayed += 1
            return
        before = talk.figures.recovered
        source = talk.asks.source_of(repair.round)
        yield from self._events_of(repair)
        self._gone(repair)
        others = sum(event.source != source for event in repair.events)
        talk.asks.answer(repair.round, talk.figures.recovered - before, self.turn.now, others)

    def _gone(self, repair: Repair) -> None:
        """What its publisher does not have any more others may have; what is too old was suspected in vain.

        What it has never given nobody has. Whether it is too old is not certain if the question may have waited for
        longer than it said (``Talk.age_s``): then it is asked for again.
        """
        source, numbers_max = self.talk.asks.source_of(repair.round), self.talk.options.digest_numbers_max
        for signature, ranges in repair.gone:
            for number in numbers_of(ranges, numbers_max):
                if (loss := self.talk.lost.entries.get((source, signature, number))) is not None:
                    loss.elsewhere = True
        for signature, ranges in repair.old if not self.talk.asks.is_late(repair.round, self.turn.now) else ():
            triples = [(source, signature, number) for number in numbers_of(ranges, numbers_max)]
            losses = [(triple, self.talk.lost.entries.get(triple)) for triple in triples]
            vain = [(triple, loss) for triple, loss in losses if loss is not None and loss.suspected]
            for triple, _ in vain:
                self.talk.lost.remove(triple)
            self.talk.given_up(vain)
        for signature, ranges in repair.never:
            self.talk.never_were(source, signature, numbers_of(ranges, numbers_max))

    def _events_of(self, repair: Repair) -> Iterator[Returned]:
        talk = self.talk
        for event, age_s in sorted(zip(repair.events, repair.ages_s, strict=True), key=lambda pair: pair[0].seq):
            if event.source == self.talk.source or not self.is_missed(event):
                talk.figures.unasked += not self.history.knows(event.source, event.seq)
                continue
            new = self.history.add(event.source, event.seq)
            self.arrived_again(event)
            if new:
                self.talk.cache.put([event], True, self.turn.now - age_s)
                talk.figures.recovered += 1
                self.turn.see(Kind.RECOVERED, peer=repair.sender, event=event)
            yield Returned(event, self.turn.now - age_s, new)

    def is_missed(self, event: Event) -> bool:
        return any((event.source, *number) in self.talk.lost for number in numbers_of_event(event))

    def arrived_again(self, event: Event) -> None:
        """By another way than events usually come, which is not to be remembered."""
        for signature, number in numbers_of_event(event):
            if (epoch := self.talk.signatures.own.get(signature)) is not None:
                self.talk.arrived(event.source, signature, number, number, epoch)
