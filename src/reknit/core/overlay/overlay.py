"""The overlay: the neighbours of this broker, and how they come and go.

Links that are added join two trees (``join``); links that are removed split one; a link that is swapped (``swaplink``)
keeps the tree whole. A removal is said to the neighbour behind everything that was sent before (``Leave``), and
answered in the same way, so that what is in flight arrives.

Owns: who is a neighbour. Must not know: topics, filters, matching. What it tells the layer above is a short list of
events; it never calls up.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import structs

from reknit.core.io import Reply
from reknit.core.links.custody import Custody
from reknit.core.links.link import Arrival, Link
from reknit.core.links.links import Adopted, Answered, LinkEvent, Links, Renewed, Stranger, TurnedAway
from reknit.core.overlay.events import Arrived, Left, Linked, Outside, OverlayEvent, Replayed, TurnedDown, Unlinked
from reknit.core.overlay.history import ADD, Deed, History, change_name
from reknit.core.overlay.join import Joins
from reknit.core.overlay.leaves import Leaves
from reknit.core.overlay.notes import read_notes, write_notes
from reknit.core.overlay.options import OverlayOptions
from reknit.core.overlay.swapdeaths import SwapDeaths
from reknit.core.overlay.swaplink import STEPS
from reknit.core.overlay.wave import Search
from reknit.core.turn import Turn, earliest
from reknit.model.event import Event
from reknit.trace.records import Kind
from reknit.wire.messages import Events, Leave, Message, Refuse, Release, Resent, Seek, Sought, Steered

__all__ = ["Overlay"]

_Shown: TypeAlias = tuple[dict[str, Any] | None, list[dict[str, Any]]]
_OWN = (Leave, Resent, Seek, Sought, Release, Steered, *STEPS)


class Overlay:
    def __init__(self, turn: Turn, links: Links, options: OverlayOptions, rng: random.Random) -> None:
        self.turn = turn
        self.links = links
        self.options = options
        self.keeps: Callable[[str], bool] = lambda _: False  # whether a change needs what this neighbour wanted
        self.unsettled: Callable[[], str] = lambda: ""  # why routes follow a change here still, for people to read
        self.parted: Callable[[], dict[str, str]] = dict  # left for a change that is not known to be over
        self.replaced: Callable[[], _Shown] = lambda: (None, [])  # replacements under way, and those that wait
        self.asked: dict[str, None] = {}  # dialled for a change
        self.leaves = Leaves(turn, links, options)
        self.closed = ""  # why no change of the tree may begin here
        self.reopen: Callable[[str], None] = lambda _: None  # asks for it, since a neighbour is lost
        self.history = History(turn)
        self._left: dict[str, None] = {}  # they have said their leave before it was our turn
        self.swaps = SwapDeaths(
            turn,
            links,
            options,
            rng,
            self.neighbours,
            self._changing,
            self._close_when_empty,
            self.history,
        )
        links.hidden, links.binds = self.swaps.hidden, self.swaps.binds
        self.search = Search(turn.node, options.lease_s, self._send_if_linked, lambda: self.swaps.locked)
        self.joins = Joins(turn, links, self.search, self.neighbours, options, rng)
        self.want_back: Callable[[str, str], None] = self.joins.want_back  # a neighbour that may be lost
        self._back: dict[str, str] = {}
        self.around: dict[str, dict[str, str]] = {}  # by neighbour: where it is, and its others, as far as it has told

    def close(self, why: str) -> None:
        """From now on no change of the tree may begin here; with an empty reason they may again."""
        self.closed, self.joins.shut = why, bool(why)

    def is_left_by(self, peer: str) -> bool:
        """Whether this neighbour, which is one no more, has said so itself."""
        return peer in self.leaves.of and self.leaves.of[peer].heard

    def _changing(self) -> str:
        """Why this broker takes part in no swap now: a join, a link that is replaced, or a drain."""
        return self.search.joining or self.search.reserved or self.unsettled() or self.closed or self.swaps.holding

    def found(self, neighbours: Mapping[str, str]) -> None:
        """Begin with these neighbours: the whole network was checked to be a tree."""
        hidden = self.swaps.hidden()
        for peer, address in neighbours.items():
            self.links.add(peer, address, quiet=peer in hidden)
            self.swaps.found(peer)
        for peer, closing in self.swaps.closing.items():
            self.links.add(peer, closing.address, quiet=True)
            self._close_when_empty(peer)
        self.swaps.take_up()
        for peer, address in self._back.items():
            self.want_back(peer, address)

    def link(self, peer: str) -> Link | None:
        """The link to a neighbour in the tree, so not to one that is being left, or does not belong to it yet."""
        link = self.links.of.get(peer)
        outside = link is None or link.tentative or peer in self.leaves.of or peer in self.swaps.hidden()
        return None if outside else link

    def neighbours(self) -> list[str]:
        """Those that are not being left: the tree, as far as this broker sees it."""
        hidden = (*self.leaves.of, *self.swaps.hidden())
        return [peer for peer, link in self.links.of.items() if not link.tentative and peer not in hidden]

    def forward(self, event: Event, hop: str, sender: str, custody: Custody) -> None:
        """Send an event to a neighbour that wants it. ``sender``: the neighbour that it came from, if one did."""
        swap = self.swaps.current
        if swap is not None and swap.triangle.steers(hop):
            swap.triangle.forward(event, hop, sender, custody)
        elif (link := self.link(hop)) is not None and link.send_event(event, custody) and self.turn.observing:
            self.turn.forwarded(event, hop)

    # --- what the next life has to know

    def notes(self) -> str:
        back = self.joins.once() | self.parted() | self.swaps.in_doubt()
        swaps, it = read_notes(self.swaps.notes()), self.links.former
        kept = structs.replace(swaps, lost=it.given_up, gone=it.gone, apart=it.apart, back=back, around=self.around)
        return write_notes(kept)

    def recall(self, text: str) -> None:
        """Take up what the life before has left; ``found`` then goes on with it."""
        self.swaps.recall(text)
        notes = read_notes(text)
        self.links.former.recall(notes.lost, notes.gone, notes.apart)
        self.around = dict(notes.around)
        self._back = dict(notes.back)

    # --- commands

    def add(self, peer: str, address: str, request: int | None) -> None:
        if self.closed and request is not None:
            self.turn.effects.append(Reply(request, self.closed))
        else:
            self.joins.want(peer, address, request)

    def remove(self, peer: str, request: int, patient: bool = False) -> Iterator[OverlayEvent]:
        """``patient``: wait for the answer of a neighbour that is down for as long as it takes."""
        if self.closed and not patient:
            self.turn.effects.append(Reply(request, self.closed))
        elif peer in self.leaves.of:
            self.leaves.of[peer].requests.append(request)
        elif peer not in self.links.of or self.links.of[peer].tentative:
            names = ", ".join(sorted(self.neighbours())) or "nobody"
            reply = f"{self.turn.node} has no link to {peer}; it is linked with {names}"
            self.turn.effects.append(Reply(request, reply))
        elif self.swaps.involves(peer):
            self.turn.effects.append(Reply(request, f"{self.swaps.locked}; try again when that is over"))
        elif self.swaps.needs(peer):
            reply = f"{self.turn.node} still empties a link that one to {peer} has replaced; try again when it has"
            self.turn.effects.append(Reply(request, reply))
        elif self.search.reserved:
            self.turn.effects.append(Reply(request, self.search.reserved))
        else:
            yield from self._leave(peer, [request], heard=False, patient=patient)

    def let_go(self, peer: str) -> Iterator[OverlayEvent]:
        """Leave a neighbour because of a change; ``Left`` will say when it is done."""
        yield from self._leave(peer, [], heard=False, replaced=True)

    def cut(self, peer: str, reason: str, keep: bool, lost: bool = False) -> Iterator[OverlayEvent]:
        """The link is gone as it is: nothing can be said over it any more, and what is under way is lost.

        ``lost``: the other end may not know. Whatever it holds, there is no link; it has to ask for one.
        """
        if peer in self.links.of:
            leaving = self.leaves.of.pop(peer, None)
            self.turn.effects.extend(Reply(request) for request in (leaving.requests if leaving else ()))
            yield from self.swaps.share(peer)
            if lost:
                self.links.give_up(peer, reason)
                self.turn.tell(Kind.LINK_LOST, peer=peer, detail=reason)
            else:
                self.links.remove(peer, reason)
            self.swaps.closed(peer)
            self.turn.tell(Kind.LINK_REMOVED, peer=peer, detail=reason)
            yield Unlinked(peer, keep, lost)
            yield from self.swaps.unlinked(peer)
            yield from self._gone(peer, "")

    def swap(self, middle: str, goal: str, request: int, of: str = "") -> None:
        if self.closed:
            self.turn.effects.append(Reply(request, self.closed))
        else:
            self.swaps.want(middle, goal, request, of)

    def heard(self, peer: str) -> Iterator[OverlayEvent]:
        """``peer`` has told all that it wants."""
        yield from self.swaps.heard(peer)

    def listens(self, peer: str) -> bool:
        """Does it matter what this neighbour wants? Not of one that is being left."""
        return self.link(peer) is not None

    def tables_known(self, known: bool) -> Iterator[OverlayEvent]:
        """Whether this broker knows what its neighbours want, and routes."""
        if not known:
            self.swaps.ready = False
        elif not self.swaps.ready:
            yield from self.swaps.now_ready()

    def _close_when_empty(self, peer: str) -> None:
        """Leave a link that is no part of the tree any more, without a word to those above."""
        heard = peer in self._left
        self._left.pop(peer, None)
        if heard:
            self.swaps.left(peer)
        self.leaves.begin_with_replaced(peer, heard)
        self.leaves.say(peer)

    def _leave(
        self, peer: str, requests: list[int], heard: bool, patient: bool = False, replaced: bool = False
    ) -> Iterator[OverlayEvent]:
        self.leaves.begin(peer, requests, heard, patient, replaced)
        self.turn.tell(Kind.LINK_REMOVED, peer=peer, detail="left by the other end" if heard else "left")
        yield Unlinked(peer, self.keeps(peer), replaced=heard and replaced)
        self.leaves.say(peer)
        yield from self.swaps.unlinked(peer)

    def _finish_leaving(self) -> Iterator[OverlayEvent]:
        for peer in self.leaves.unheard():
            yield from self.cut(peer, "left without an answer, by a former life", keep=False)
        for peer, answered in self.leaves.over(self.swaps.holds):
            if answered:
                yield from self._forget(peer, "left", "")
            else:
                error = f"{peer} did not answer; left on this side only"
                yield from self._forget(peer, "left without an answer", error)

    def _forget(self, peer: str, detail: str, error: str) -> Iterator[OverlayEvent]:
        leaving = self.leaves.of.pop(peer)
        if leaving.whole and error:  # its far end may still think that it is one of the tree, in any of our lives
            self.links.give_up(peer, detail)
        else:
            self.links.remove(peer, detail)
        self.swaps.closed(peer, emptied=not error)
        yield Replayed(peer)
        self.turn.effects.extend(Reply(request, error) for request in leaving.requests)
        yield from self._gone(peer, "")
        yield Left(peer, heard=not error)

    # --- what the links report

    def on_link_event(self, event: LinkEvent) -> Iterator[OverlayEvent]:
        if self._is_outside(event):
            yield Outside(event)
            return
        match event:
            case Arrival(peer=peer, messages=messages, custody=custody):
                self.turn.custodies.append(custody)
                yield from self._on_messages(peer, messages, custody)
                yield from self._go_on()
            case Renewed(peer=peer, reborn=reborn):
                yield from self._on_renewed(peer, reborn)
            case Adopted(peer=peer):
                self.swaps.adopted(peer)
                yield Linked(peer, again=False)
            case Stranger() if self.swaps.expects(event):
                self.swaps.on_stranger(event)
            case Stranger() if self.closed:
                self.links.refuse(event.conn, Refuse(self.closed, retry=True, stranger=False))
            case Stranger():
                yield from self._new_links(self.joins.on_stranger(event))
            case Answered(peer=peer) if self.swaps.asks(peer):
                yield from self.swaps.on_answered(event)
            case TurnedAway(peer=peer) if self.swaps.asks(peer):
                self.swaps.on_turned_away(event)
            case Answered(peer=peer):
                again, new = peer in self.links.of, self.links.asks_alone
                yield from self._new_links(self.joins.on_answered(event))
                if new:
                    self.turn.see(Kind.CHANGE, peer=peer, detail="add: connectAck at the new one")
                    self.history.note(
                        change_name((self.turn.node, self.links.incarnation)), Deed(ADD, (self.turn.node, peer)), "new"
                    )
                if again:
                    yield from self._on_renewed(peer, reborn=False)
            case TurnedAway(peer=peer, refusal=refusal):
                if refusal.stranger and peer in self.links.of:
                    address = self.links.of[peer].address if refusal.retry else ""
                    yield from self._turned_out(peer, refusal.reason)
                    self.want_back(peer, address)
                self.joins.on_turned_away(event)
                yield from self._have_left(refusal.left)

    def _is_outside(self, event: LinkEvent) -> bool:
        match event:
            case Stranger(hello=hello):
                return hello.wave is not None and hello.wave[1] == 0
            case Answered(peer=peer):
                return peer in self.asked
            case Renewed(peer=peer) | TurnedAway(peer=peer):
                return peer in self.asked or (peer in self.links.of and self.links.of[peer].tentative)
        return False

    def _have_left(self, names: list[str]) -> Iterator[OverlayEvent]:
        """They have gone for good while we were away. Whoever holds one of them for a neighbour waits for nobody."""
        for name in names:
            link = self.link(name)
            if link is not None and not link.greeted and not self.swaps.involves(name):
                yield from self.cut(name, "it has left for good", keep=False, lost=True)

    def _on_messages(self, peer: str, messages: list[Message], custody: Custody) -> Iterator[OverlayEvent]:
        """In their order: a step of a change stands for all that was sent before it."""
        above: list[Message] = []
        for message in messages:
            if not self._is_own(peer, message):
                above.append(message)
                continue
            if above:
                yield Arrived(peer, above, custody, self.swaps.skips(peer), self._relays(peer, custody))
                above = []
            if not self.swaps.stalls(peer, message, custody):
                yield from self._on_own_message(peer, message, custody)
        if above:
            yield Arrived(peer, above, custody, self.swaps.skips(peer), self._relays(peer, custody))

    def _relays(self, peer: str, custody: Custody) -> tuple[str, ...]:  # not for what was sent once, and doubled since
        return self.swaps.relays(peer) if custody.link is not None else ()

    def _go_on(self) -> Iterator[OverlayEvent]:
        """With what need not wait any longer; all of it, before that may free others."""
        while freed := self.swaps.unstalled():
            for sender, message, held in freed:
                yield from self._on_messages(sender, [message], held)

    def _is_own(self, peer: str, message: Message) -> bool:
        """Is it for the overlay, or to be handled by its rules?"""
        return isinstance(message, _OWN) or self.swaps.involves(peer) or self.swaps.holds_back(peer)

    def _on_steered(self, peer: str, message: Events | Steered, custody: Custody) -> Iterator[OverlayEvent]:
        if self.swaps.involves(peer):
            yield from self.swaps.take(peer, message, custody)
        else:  # of a swap that is over here
            skip = self.swaps.skips(peer, message)
            yield Arrived(peer, [Events(message.events)], custody, skip, self._relays(peer, custody))

    def _on_own_message(self, peer: str, message: Message, custody: Custody) -> Iterator[OverlayEvent]:
        if isinstance(message, Leave) and message.holders:
            self.links.former.has_gone(peer, message.holders)
        match message:
            case Seek():
                self.search.on_seek(peer, message, self.neighbours(), self.turn.now)
            case Sought():
                answer = self.search.on_sought(peer, message)
                if answer is not None:
                    yield from self._new_links(self.joins.answer(answer))
            case Release():
                self.search.on_release(peer, message)
            case Resent():
                yield Replayed(peer)
            case Leave() if peer not in self.links.of or self.links.of[peer].tentative:
                pass  # it is a neighbour no more, and had to wait with that; or it never was one
            case Leave() if peer in self.leaves.of:
                self.leaves.of[peer].heard = True
                self.swaps.left(peer)
                yield Replayed(peer)
            case Leave() if peer in self.swaps.hidden():
                self._left[peer] = None
                yield Replayed(peer)
            case Leave(replaced=replaced):
                yield from self._leave(peer, [], heard=True, replaced=replaced)
            case Events() | Steered():
                yield from self._on_steered(peer, message, custody)
            case _ if isinstance(message, STEPS):
                yield from self.swaps.on_step(peer, message, custody)
            case _:
                yield Arrived(peer, [message], custody, (peer,))

    def _on_renewed(self, peer: str, reborn: bool) -> Iterator[OverlayEvent]:
        yield from self._gone(peer, f"{peer} was restarted")
        yield from self.swaps.renewed(peer, reborn)
        if peer in self.leaves.of:
            self.leaves.say_again(peer)
            return
        if self.swaps.involves(peer):
            self.links.of[peer].send(Resent())
        if peer not in self.swaps.hidden() and not self.swaps.defers(peer):
            yield Linked(peer, again=True)

    def _turned_out(self, peer: str, reason: str) -> Iterator[OverlayEvent]:
        """The neighbour does not hold us for one (any more)."""
        if peer in self.leaves.of:
            yield from self._forget(peer, "left", "")
            return
        if peer in self.swaps.hidden():
            yield from self.swaps.turned_out(peer)
            return
        to_be_asked = self.swaps.to_be_asked(peer)
        yield from self.swaps.turned_out(peer)
        if peer in self.leaves.of:  # the swap has gone on without it
            yield from self._forget(peer, "left", "")
            return
        self.links.remove(peer, reason)
        self.turn.tell(Kind.LINK_REMOVED, peer=peer, detail=reason)
        yield Unlinked(peer, self.keeps(peer))
        yield from self.swaps.unlinked(peer)
        yield from self._gone(peer, "")
        for each, address in to_be_asked.items():
            self.joins.want_back(each, address)

    def _gone(self, peer: str, why: str) -> Iterator[OverlayEvent]:
        answer = self.search.neighbour_gone(peer, why)
        if answer is not None:
            yield from self._new_links(self.joins.answer(answer))

    def _new_links(self, peers: Iterator[str]) -> Iterator[OverlayEvent]:
        for peer in peers:
            self.swaps.joined(peer)
            yield Linked(peer, again=False)

    def _send_if_linked(self, peer: str, message: Message) -> None:
        if (link := self.links.of.get(peer)) is not None:
            link.send(message)

    # --- times

    def deadline(self) -> float | None:
        at = earliest(self.leaves.deadline(), self.search.deadline(), self.joins.deadline(), self.swaps.deadline())
        return at if at is not None and at < math.inf else None

    def due(self) -> Iterator[OverlayEvent]:
        self.search.due(self.turn.now)
        yield from self._new_links(self.joins.due())
        yield from self.swaps.due()

    def end_of_turn(self) -> Iterator[OverlayEvent]:
        yield from self._finish_leaving() if self.leaves.of or self.leaves.had_left() else ()
        if self.swaps.attentive:
            yield from self.swaps.give_up_the_lost()
            while self.swaps.to_be_called:
                self.joins.want_back(*self.swaps.to_be_called.popitem())
            yield from self._go_on()
            self.swaps.answer_inquiries()
            self.swaps.flush()
        while self.joins.turned_down:
            yield TurnedDown(self.joins.turned_down.pop())

    @property
    def at_rest(self) -> bool:
        """No change of the tree is under way here."""
        idle = not self.leaves.of and self.search.locked_by is None and not self.swaps.holding
        return idle and self.joins.at_rest and self.swaps.current is None and not self.swaps.wishes
