"""One turn of the core: what the layers share while one input is handled.

Owns: the time of the turn, and the lists into which the layers put effects and observations. Must not know: which
layer puts what.

What happens to every event must cost next to nothing to see, so it is noted for many events at once, in a *passage*.
What a client has published is one list already. What is delivered, the effects say; so that is read from them when the
turn ends, and stands behind all else of the turn but for events that were published in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import TYPE_CHECKING, Any

from reknit.core.io import Deliver, Effect, Match, Observe
from reknit.model.event import Event
from reknit.trace.passage import Passage, Seen
from reknit.trace.records import Kind, Record

if TYPE_CHECKING:
    from reknit.core.links.custody import Custody
    from reknit.wire.messages import Message

__all__ = ["Turn", "earliest"]


def earliest(*times: float | None) -> float | None:
    """Of those that there are. Asked after every turn, so without an iterator."""
    first: float | None = None
    for at in times:
        if at is not None and (first is None or at < first):
            first = at
    return first


class Turn:
    """The layers of one broker hold the same turn; the broker sets its time and takes its effects."""

    __slots__ = (
        "_forwarded",
        "_noted",
        "_published",
        "custodies",
        "effects",
        "frame",
        "keeping",
        "node",
        "now",
        "observing",
        "says",
        "seen",
    )

    def __init__(self, node: str, observing: bool, keeping: bool = False) -> None:
        """``keeping``: somebody keeps what the next life has to know of events."""
        self.node = node
        self.keeping = keeping
        self.observing = observing
        self.now = 0.0
        self.effects: list[Effect] = []
        self.seen: list[Seen] = []
        self.custodies: list[Custody] = []  # held until the turn ends
        self.frame = b""  # the last one that a neighbour has sent
        self.says: Sequence[Message] = ()  # and what it says
        self._published: Passage | None = None  # in this turn
        self._noted = 0  # deliveries of this turn that have been seen
        self._forwarded: Passage | None = None  # the last of ``seen``, if it is of events from elsewhere

    def end(self) -> list[Effect]:
        if self.observing:
            self._see_deliveries()
            self._noted = 0
        if self.seen:
            self.effects.append(Observe(self.seen))
            self.seen = []
            self._published = self._forwarded = None
        return self.effects

    def see(self, kind: Kind, **fields: Any) -> None:
        """For the trace, if there is one."""
        if self.observing:
            self.tell(kind, **fields)

    def tell(self, kind: Kind, **fields: Any) -> None:
        """What an operator must hear of, whether there is a trace or not."""
        self._forwarded = None
        self.seen.append(Record(self.now, self.node, kind, **fields))

    # --- what happens to every event; to be called only if ``observing``

    def published(self, client: str, events: list[Event]) -> None:
        """All events of this turn's input, before anything happens to them."""
        if events:
            self._published = Passage(self.now, self.node, client, events)
            self.seen.append(self._published)

    def forwarded(self, event: Event, peer: str) -> None:
        passage = self._published
        at = None if passage is None else _place(passage.events, event)
        if passage is None or at is None:
            passage, at = self._elsewhere(event)
        _put(passage.peers, at, (peer,))

    def _elsewhere(self, event: Event) -> tuple[Passage, int]:
        """A passage for an event that was not published in this turn, and its place there."""
        passage = self._forwarded
        if passage is None:
            self._forwarded = passage = Passage(self.now, self.node, None, [event])
            self.seen.append(passage)
        elif passage.events[-1] is not event:
            passage.events.append(event)
        return passage, len(passage.events) - 1

    def settled(self, events: list[Event]) -> None:
        """``events`` are the very list that was published, mostly in this turn."""
        passage = self._published
        if passage is not None and passage.events is events:
            passage.settled = True
        elif events:
            self._forwarded = None
            self.seen.append(Passage(self.now, self.node, None, events, settled=True))

    def note_deliveries(self) -> None:
        """Note what was delivered so far, since something is to be said that must stand behind it."""
        if self.observing:
            self._see_deliveries()
            self._noted = sum(type(each) is Deliver for each in self.effects)
            self._forwarded = None

    def _see_deliveries(self) -> None:
        delivered = [each for each in self.effects if type(each) is Deliver][self._noted :]
        passage = self._published
        if delivered and passage is not None:
            if _just(delivered, passage.events):
                passage.clients = _names_of_all(delivered)
                return
            delivered = self._see_deliveries_of(passage, delivered)
        if delivered:
            events = [each.event for each in delivered]
            self.seen.append(Passage(self.now, self.node, None, events, _names_of_all(delivered)))

    def _see_deliveries_of(self, passage: Passage, delivered: list[Deliver]) -> list[Deliver]:
        """Note those of the passage's events, and return the others: they had waited for the gate."""
        others = []
        for each, names in zip(delivered, _names_of_all(delivered), strict=True):
            if (at := _place(passage.events, each.event)) is None:
                others.append(each)
            else:
                _put(passage.clients, at, names)
        return others


def _just(delivered: list[Deliver], events: list[Event]) -> bool:
    """Are these all events, and no others? What had waited for a session may stand between them."""
    return len(delivered) == len(events) and all(map(is_, [each.event for each in delivered], events))


def _names_of_all(delivered: list[Deliver]) -> list[tuple[str, ...]]:
    """The clients of each. Events of one topic have the same matches, so most names are known already."""
    matches = [each.matches for each in delivered]
    if matches.count(matches[0]) == len(matches):
        return [_names(matches[0])] * len(matches)
    known = {id(each): each for each in matches}
    names = {number: _names(each) for number, each in known.items()}
    return [names[id(each)] for each in matches]


def _names(matches: tuple[Match, ...]) -> tuple[str, ...]:
    return tuple([name for name, _ in matches])


def _place(events: list[Event], event: Event) -> int | None:
    """Where ``event`` is in ``events``, which were stamped one after the other; None if it is not there."""
    at = event.seq - events[0].seq
    return at if 0 <= at < len(events) and events[at] is event else None


def _put(hops: list[tuple[str, ...]], at: int, names: tuple[str, ...]) -> None:
    """Add ``names`` to the hops of event number ``at``."""
    hops += [()] * (at + 1 - len(hops))
    hops[at] += names
