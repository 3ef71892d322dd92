"""The heartbeat: a source that has fallen silent says its last numbers, so that the last of a burst is missed, too.

These words must arrive, for nobody repeats them for ever; so they are numbered on every link, and in custody, as events
are on links that lose nothing: a broker on the way may die.

Where many sources say little each, nearly every event has such a word behind it. So at each broker these words wait
for a moment, and all that a neighbour is to hear, of whatever source, goes to it at once, in one frame: there are no
more of them on a link than there are moments. Meanwhile somebody who was to hear one may have moved to the other side,
behind the neighbour that it has come from: then it goes back there, too. Or here: then it is heard here.

Owns: what is said of silence, and what is heard. Must not know: when a source is silent (see ``silence``), or what
becomes of what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from reknit.core.links.custody import Custody
from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.numbering import Numbering
from reknit.core.recovery.silence import Silence
from reknit.wire.codec import ROUTE_BROKERS_MAX
from reknit.wire.messages import Silent

__all__ = ["Heartbeat"]


class _Gathered(NamedTuple):
    """``hearers``: by signature, who was to hear it when it came. ``epoch``: the last of interest here by then."""

    apart_from: str
    message: Silent
    custody: Custody | None
    hearers: dict[int, list[str]]
    epoch: int


class Heartbeat:
    def __init__(self, talk: Talk, numbering: Numbering, silence: Silence, *, records: bool, remembers: bool) -> None:
        """``records``: words have to say by which brokers they come; ``remembers``: what they say is remembered."""
        self.turn = talk.turn
        self.talk = talk
        self.numbering = numbering
        self.silence = silence
        self.records = records
        self.remembers = remembers
        self._held: list[tuple[str, Silent, Custody]] = []
        self._gathered: list[_Gathered] = []  # they go on together
        self._at: float | None = None  # and when

    def deadline(self) -> float | None:
        """Asked in every turn."""
        silence, at = self.silence.at, self._at
        return silence if at is None else at if silence is None else min(at, silence)

    def due(self, now: float) -> None:
        """Say which numbers were the last of patterns that are silent by now, and what has been gathered."""
        self._say_last(self.silence.due(now))
        if self._at is not None and now >= self._at:
            self._tell()

    def end(self) -> None:
        """This broker is about to leave: nobody else could say it later."""
        self._say_last(self.silence.end())
        self._tell()

    def _say_last(self, silent: list[int]) -> None:
        if silent:
            self._gather("", Silent(self.talk.source, self.numbering.current(silent), 0, *self.numbering.way), None)

    def hear(self, peer: str, message: Silent, custody: Custody, ready: bool) -> None:
        """``ready``: it is known here who wants to hear it; else it waits until then."""
        if ready:
            self._hear(peer, message, custody)
        elif len(self._held) < self.talk.options.held_max:
            custody.pending += 1
            self._held.append((peer, message, custody))

    def release_held(self) -> None:
        held, self._held = self._held, []
        for peer, message, custody in held:
            self.turn.custodies.append(custody)  # takes over the hold that the queue had
            self._hear(peer, message, custody)

    def _hear(self, peer: str, message: Silent, custody: Custody) -> None:
        if message.source == self.talk.source:
            self.talk.figures.replayed += 1
            return
        self._note(message)
        way, address, key = message.route, message.address, message.key
        if way and self.remembers and len(way) < ROUTE_BROKERS_MAX:
            self.talk.remember_way(message.source, way, address, key)
            way = (*way, self.turn.node) if self.records else way
        if message.hops < self.talk.options.hops_max:
            self._gather(peer, Silent(message.source, message.numbers, message.hops + 1, way, address, key), custody)

    def _note(self, message: Silent, after: int = 0) -> None:
        """What it says of patterns that are wanted here, and came to be behind this epoch; of each, the last number."""
        room, own = self.talk.options.hearsay_max, self.talk.signatures.own
        last: dict[int, int] = {}
        for signature, number in message.numbers:
            last[signature] = max(number, last.get(signature, 0))
        for signature, number in last.items():
            if own.get(signature, 0) > after:
                room -= self.talk.announced(message.source, signature, number, room)

    # --- saying it

    def _gather(self, apart_from: str, message: Silent, custody: Custody | None) -> None:
        """It goes to all who want it, with others, in a moment; at once if there is somebody, and no room."""
        hearers = {signature: self.talk.towards(signature, apart_from) for signature, _ in message.numbers}
        if not any(hearers.values()):
            return
        if custody is not None:
            custody.pending += 1
        self._gathered.append(_Gathered(apart_from, message, custody, hearers, self.talk.signatures.epochs))
        if self._at is None:
            self._at = self.turn.now + self.talk.options.heartbeat_gather_s
        if self._at <= self.turn.now or len(self._gathered) >= self.talk.options.held_max:
            self._tell()

    def _tell(self) -> None:
        gathered, self._gathered, self._at = self._gathered, [], None
        sizes: dict[str, int] = {}
        for each in gathered:
            if each.custody is not None:
                self.turn.custodies.append(each.custody)  # takes over the hold that waiting had
            if each.apart_from:
                self._note(each.message, after=each.epoch)
            for name, size in self._say(each):
                sizes[name] = sizes.get(name, 0) + size
        datagram = self.talk.overlay.links.options.datagram_bytes
        self.talk.figures.heartbeats += sum(-(-size // datagram) for size in sizes.values())

    def _say(self, each: _Gathered) -> Iterator[tuple[str, int]]:
        """To each neighbour the patterns that it wants: so many bytes."""
        by_name: dict[str, list[tuple[int, int]]] = {}
        for number in each.message.numbers:
            for name in self._hearers(number[0], each):
                by_name.setdefault(name, []).append(number)
        for name, some in by_name.items():
            if (link := self.talk.overlay.link(name)) is not None:
                custody = each.custody if name != each.apart_from else None  # it would wait for itself
                yield name, link.send(msgspec.structs.replace(each.message, numbers=some), custody)

    def _hearers(self, signature: int, each: _Gathered) -> list[str]:
        """Also the one that it came from, if somebody who was to hear it may be behind that one by now."""
        names = self.talk.towards(signature)
        if all(name in names for name in each.hearers[signature]):
            return [name for name in names if name != each.apart_from]
        return names
