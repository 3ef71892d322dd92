"""A link on which events may be lost: they are sent once, and nobody acknowledges them.

On a link of datagrams the words by which brokers keep their tree and their tables are numbered, and sent again until
they arrive. Events are not, if the link is told so: they go beside that stream, a few to a datagram, without custody,
and nobody waits for them. Whoever misses one asks for it (``recovery``). But for one broker, and for it alone, an event
may be a *token*: the duty to hand it to a member of a group (``shares``). If that broker dies, nobody else would miss
it, and its next life does not; so events that members of a group share go in the numbered stream, as on other links. So
do all events while a session moves along the link: which broker has to deliver one is decided by the words between
which it stands. What was sent loosely before that, and comes late, is not taken: whoever misses it will get it as
anything that is lost. And so does a large event, for what is lost comes back in one datagram or not at all.

Owns: what is sent once, and how it is put into datagrams. Must not know: what it says, or whether it arrives.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from reknit.core.io import Send
from reknit.core.links.custody import Custody
from reknit.core.links.link import Arrival, Link
from reknit.core.links.options import LinkOptions
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.trace.records import NO_CONNECTION
from reknit.wire.codec import encode
from reknit.wire.messages import Data, Events, Loose, Message

__all__ = ["LOOSE_BYTES_MAX", "LooseLink", "datagram_bytes_of", "make_link"]

FRAME_BYTES_TARGET = 24_000
"""Of frames on datagrams, whatever is set for others: one that is cut into many pieces hardly ever arrives whole."""

LOOSE_BYTES_MAX = 32 * 1024
"""Of an event that is sent once: the longer a datagram is, the likelier it is lost, and so is the answer that brings it
back. One that is larger than any datagram would never come back at all."""

_EVENT_BYTES = 60  # what the wire needs beside an event's texts


def datagram_bytes_of(event: Event) -> int:
    """About what the event takes in a datagram; not less."""
    if event.attributes or event.derived or event.properties or event.envelope or not event.topic.isascii():
        return len(encode(event))
    texts = len(event.topic) + len(event.payload) + len(event.source) + len(event.content_type)
    return _EVENT_BYTES + texts + len(event.marks)


class LooseLink(Link):
    def __init__(self, turn: Turn, peer: str, address: str, options: LinkOptions) -> None:
        super().__init__(turn, peer, address, options)
        self._datagrams: list[list[Message]] = []  # this turn's
        self._events: list[Event] | None = None  # the open end of the last one
        self._size = 0

    def send_event(self, event: Event, custody: Custody) -> bool:
        size = datagram_bytes_of(event)
        if event.sharing is not None or self.sends_in_line or size > LOOSE_BYTES_MAX:
            return super().send_event(event, custody)
        if not self.greeted:
            return self.drop(event, NO_CONNECTION)
        if self._events is None or self._size + size > self.options.datagram_bytes:
            self._events = []
            self._put(Events(self._events), size)
        else:
            self._size += size
        self._events.append(event)
        return True

    def take_data(self, data: Data | Loose) -> Iterator[Arrival]:
        if self.takes_in_line and isinstance(data, Loose):
            data = Loose(data.session, [each for each in data.messages if not isinstance(each, Events)])
        return super().take_data(data)

    def send_loosely(self, message: Message) -> None:
        if self.greeted:
            self._events = None
            self._put(message, len(encode(message)))

    def _put(self, message: Message, size: int) -> None:
        if not self._datagrams or self._size + size > self.options.datagram_bytes:
            self._datagrams.append([])
            self._size = 0
        self._datagrams[-1].append(message)
        self._size += size

    def flush(self) -> None:
        super().flush()
        datagrams, self._datagrams, self._events, self._size = self._datagrams, [], None, 0
        if self.conn is not None and self.greeted:
            for messages in datagrams:
                self.turn.effects.append(Send(self.conn, encode(Loose(self.session, messages))))


def make_link(turn: Turn, peer: str, address: str, options: LinkOptions) -> Link:
    """Of the kind that the options ask for."""
    options = options.of(peer)
    if options.datagrams and options.frame_bytes_target > FRAME_BYTES_TARGET:
        options = msgspec.structs.replace(options, frame_bytes_target=FRAME_BYTES_TARGET)
    return LooseLink(turn, peer, address, options) if options.loose else Link(turn, peer, address, options)
