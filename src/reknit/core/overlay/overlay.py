"""The overlay: the neighbours of this broker, and how they come and go.

Links that are added join two trees (``join``); links that are removed split one. A removal is said to the neighbour
behind everything that was sent before (``Leave``), and answered in the same way, so that what is in flight arrives.

Owns: who is a neighbour. Must not know: topics, filters, matching. What it tells the layer above is a short list of
events; it never calls up.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from reknit.core.io import Reply
from reknit.core.links.custody import Custody
from reknit.core.links.link import Arrival, Link
from reknit.core.links.links import Adopted, Answered, LinkEvent, Links, Renewed, Stranger, TurnedAway
from reknit.core.overlay.join import Joins
from reknit.core.overlay.options import OverlayOptions
from reknit.core.overlay.wave import Search
from reknit.core.turn import Turn
from reknit.trace.records import Kind
from reknit.wire.messages import Leave, Message, Release, Seek, Sought

__all__ = ["Arrived", "Linked", "Overlay", "OverlayEvent", "TurnedDown", "Unlinked"]


@dataclass(frozen=True, slots=True)
class Linked:
    """This neighbour knows nothing of us yet: a new link, or a neighbour that has lost its memory (``again``)."""

    peer: str
    again: bool


@dataclass(frozen=True, slots=True)
class Unlinked:
    """No neighbour any more."""

    peer: str


@dataclass(frozen=True, slots=True)
class TurnedDown:
    """A configured link that will not be: it would close a cycle, say. It is tried again, slowly."""

    peer: str


@dataclass(frozen=True, slots=True)
class Arrived:
    """Messages for the layers above."""

    peer: str
    messages: list[Message]
    custody: Custody


OverlayEvent: TypeAlias = Linked | Unlinked | TurnedDown | Arrived


@dataclass(slots=True)
class _Leaving:
    requests: list[int]
    give_up_at: float
    heard: bool  # the neighbour has said its own leave


class Overlay:
    def __init__(self, turn: Turn, links: Links, options: OverlayOptions, rng: random.Random) -> None:
        self.turn = turn
        self.links = links
        self.options = options
        self.search = Search(turn.node, options.lease_s, self._send_if_linked)
        self._leaving: dict[str, _Leaving] = {}
        self.joins = Joins(turn, links, self.search, self.neighbours, options, rng)

    def found(self, neighbours: Mapping[str, str]) -> None:
        """Begin with these neighbours: the whole network was checked to be a tree."""
        for peer, address in neighbours.items():
            self.links.add(peer, address)

    def link(self, peer: str) -> Link | None:
        """The link to a neighbour, unless it is being left."""
        return None if peer in self._leaving else self.links.of.get(peer)

    def neighbours(self) -> list[str]:
        """Those that are not being left: the tree, as far as this broker sees it."""
        return [peer for peer in self.links.of if peer not in self._leaving]

    # --- commands

    def add(self, peer: str, address: str, request: int | None) -> None:
        self.joins.want(peer, address, request)

    def remove(self, peer: str, request: int) -> Iterator[OverlayEvent]:
        if peer in self._leaving:
            self._leaving[peer].requests.append(request)
        elif peer not in self.links.of:
            names = ", ".join(sorted(self.links.of)) or "nobody"
            reply = f"{self.turn.node} has no link to {peer}; it is linked with {names}"
            self.turn.effects.append(Reply(request, reply))
        else:
            yield from self._leave(peer, [request], heard=False)

    def _leave(self, peer: str, requests: list[int], heard: bool) -> Iterator[OverlayEvent]:
        self._leaving[peer] = _Leaving(requests, self.turn.now + self.options.leave_s_max, heard)
        self.turn.tell(Kind.LINK_REMOVED, peer=peer, detail="left by the other end" if heard else "left")
        yield Unlinked(peer)
        self.links.leave(peer)
        self.links.of[peer].send(Leave())

    def _finish_leaving(self) -> Iterator[OverlayEvent]:
        for peer, leaving in list(self._leaving.items()):
            if leaving.heard and self.links.of[peer].everything_received:
                yield from self._forget(peer, "left", "")
            elif self.turn.now >= leaving.give_up_at:
                yield from self._forget(
                    peer, "left without an answer", f"{peer} did not answer; left on this side only"
                )

    def _forget(self, peer: str, detail: str, error: str) -> Iterator[OverlayEvent]:
        leaving = self._leaving.pop(peer)
        self.links.remove(peer, detail)
        self.turn.effects.extend(Reply(request, error) for request in leaving.requests)
        yield from self._gone(peer, "")

    # --- what the links report

    def on_link_event(self, event: LinkEvent) -> Iterator[OverlayEvent]:
        match event:
            case Arrival(peer=peer, messages=messages, custody=custody):
                rest: list[Message] = [
                    each for each in messages if not isinstance(each, Leave | Seek | Sought | Release)
                ]
                yield Arrived(peer, rest, custody)
                if len(rest) < len(messages):
                    yield from self._on_own_messages(peer, messages)
            case Renewed(peer=peer):
                yield from self._on_renewed(peer)
            case Adopted(peer=peer):
                yield Linked(peer, again=False)
            case Stranger():
                yield from self._new_links(self.joins.on_stranger(event))
            case Answered(peer=peer):
                again = peer in self.links.of
                yield from self._new_links(self.joins.on_answered(event))
                if again:
                    yield from self._on_renewed(peer)
            case TurnedAway(peer=peer, refusal=refusal):
                if refusal.stranger and peer in self.links.of:
                    yield from self._turned_out(peer, refusal.reason)
                self.joins.on_turned_away(event)

    def _on_own_messages(self, peer: str, messages: list[Message]) -> Iterator[OverlayEvent]:
        for message in messages:
            match message:
                case Seek():
                    self.search.on_seek(peer, message, self.neighbours(), self.turn.now)
                case Sought():
                    answer = self.search.on_sought(peer, message)
                    if answer is not None:
                        yield from self._new_links(self.joins.answer(answer))
                case Release():
                    self.search.on_release(peer, message)
                case Leave() if peer in self._leaving:
                    self._leaving[peer].heard = True
                case Leave():
                    yield from self._leave(peer, [], heard=True)

    def _on_renewed(self, peer: str) -> Iterator[OverlayEvent]:
        yield from self._gone(peer, f"{peer} was restarted")
        if peer in self._leaving:
            self.links.of[peer].send(Leave())
        else:
            yield Linked(peer, again=True)

    def _turned_out(self, peer: str, reason: str) -> Iterator[OverlayEvent]:
        """The neighbour does not hold us for one (any more)."""
        if peer in self._leaving:
            yield from self._forget(peer, "left", "")
            return
        self.links.remove(peer, reason)
        self.turn.tell(Kind.LINK_REMOVED, peer=peer, detail=reason)
        yield Unlinked(peer)
        yield from self._gone(peer, "")

    def _gone(self, peer: str, why: str) -> Iterator[OverlayEvent]:
        answer = self.search.neighbour_gone(peer, why)
        if answer is not None:
            yield from self._new_links(self.joins.answer(answer))

    def _new_links(self, peers: Iterator[str]) -> Iterator[OverlayEvent]:
        for peer in peers:
            yield Linked(peer, again=False)

    def _send_if_linked(self, peer: str, message: Message) -> None:
        if (link := self.links.of.get(peer)) is not None:
            link.send(message)

    # --- times

    def deadline(self) -> float | None:
        times = [leaving.give_up_at for leaving in self._leaving.values()]
        times += [at for at in (self.search.deadline(), self.joins.deadline()) if at is not None]
        return min(times, default=None)

    def due(self) -> Iterator[OverlayEvent]:
        self.search.due(self.turn.now)
        yield from self._new_links(self.joins.due())

    def end_of_turn(self) -> Iterator[OverlayEvent]:
        if self._leaving:
            yield from self._finish_leaving()
        while self.joins.turned_down:
            yield TurnedDown(self.joins.turned_down.pop())

    @property
    def at_rest(self) -> bool:
        """No change of the tree is under way here."""
        return not self._leaving and self.joins.at_rest and self.search.locked_by is None
