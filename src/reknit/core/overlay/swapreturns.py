"""After a swap: what two of its brokers, back from the dead, have to hear before they go on.

While the replaced link is not empty, what came by it may not be settled. If its far end dies, the near end still has
it. If both die, it is still further off, with whoever sent it; and comes again, but by the new way, behind younger
events that went that way from the beginning. The guard against copies would take it for one. Likewise at the goal: what
came to it by way of the middle comes again behind what came from the mover directly.

So a new life that knows of such a link holds back the events that come the new way, until it has heard from the
other end that all older ones stand before (``Inquire``, ``Mark``), and brings them into their order:

    new life   holds what comes from   until a mark has come from   and moreover
    ---------  ----------------------  ---------------------------  -----------------------------------
    mover      the goal                the middle, by the goal      the middle has left the old link
    middle     the goal                the mover, by the goal       the mover has left the old link
    goal       the mover               the middle

An answer counts for the life that gave it: if that one has died before it had left the old link, it is asked again.
Whoever is asked answers when it routes again, and, to a goal, when the mover has left the old link, too. Its other
neighbours are asked as well, for one of them may have died at the same time, and still hold what it is to send again:
what closes a way is said behind that. A goal passes on even events that have been here before: it was not to bring
them to the third, as long as the third got them directly.

Nobody waits for ever: whoever is away for too long, or no neighbour any more, is not waited for. What is held back is
in its sender's outbox still, whose bound is the bound of what waits here.

Owns: holds, inquiries, and swaps that have ended here as goal. Must not know: the steps of a swap.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

from reknit.core.links.custody import Custody
from reknit.core.links.links import Links
from reknit.core.overlay.events import Arrived, OverlayEvent
from reknit.core.overlay.heldback import in_order
from reknit.core.overlay.history import History
from reknit.core.overlay.notes import Closing, Ended, Part, SwapNote
from reknit.core.overlay.options import OverlayOptions
from reknit.core.overlay.swapstalls import SwapStalls
from reknit.core.overlay.swapstate import Step, Swapping
from reknit.core.turn import Turn
from reknit.trace.records import Kind
from reknit.wire.messages import (
    Close,
    Events,
    Inquire,
    Leave,
    LockAck,
    LockNack,
    Mark,
    Message,
    Mode,
    Moving,
    Open,
    Side,
    Steered,
    Swap,
    SwapId,
    Unlock,
)

__all__ = ["ENDED_MAX", "SwapReturns"]

ENDED_MAX = 64
"""Swaps that have ended here as goal and are remembered as such; beyond it the oldest go."""

_CLOSING_STEPS = (LockAck, LockNack, Unlock, Side, Swap, Open, Close)
"""Each stands for all that was sent before it."""


@dataclass(slots=True)
class _Hold:
    """Events from ``peer`` wait for a mark by way of ``via``, and until ``old``, if there is one, has left."""

    id: SwapId
    peer: str
    via: str
    old: str
    until: float
    marked: bool = False
    by: int = 0  # the life that has answered


class SwapReturns(SwapStalls):
    def __init__(
        self,
        turn: Turn,
        links: Links,
        options: OverlayOptions,
        rng: random.Random,
        neighbours: Callable[[], list[str]],
        busy: Callable[[], str],
        close_link: Callable[[str], None],
        history: History,
    ) -> None:
        super().__init__(turn, links, options, rng, neighbours, busy, close_link, history)
        self._holds: list[_Hold] = []
        self._held_back: dict[str, list[tuple[Message, Custody]]] = {}  # by sender
        self._inquiries: list[tuple[str, Inquire, Custody]] = []  # by whom they came; to be answered
        self._late: list[tuple[str, Step, Custody | None]] = []  # to be said when this broker routes
        self._marks: list[tuple[Mark, Custody]] = []  # to be passed on when this broker routes
        self._awaited: dict[str, tuple[SwapId, float]] = {}  # who is to answer before what is late is said; until when
        self._behind_goal: list[tuple[str, Message, Custody]] = []  # closes the way of what is held back of the goal
        self._left_in: dict[str, int] = {}  # by far end of a replaced link that has left it: in which of its lives

    # --- a new life

    def _inquire_all(self) -> None:
        for old, closing in self.closing.items():
            self._inquire_by_goal(closing.id, closing.goal, old)
        for id_, ended in self.ended.items():
            self._inquire_as_goal(id_, ended.middle)
            self._remember_ended(id_)
        for closing in self.closing.values():
            self._inquire_around(closing)

    def _inquire_around(self, closing: Closing) -> None:
        """Those that have nothing to do with it."""
        for peer in self.neighbours():
            if peer != closing.goal and peer not in self._awaited:
                self._awaited[peer] = (closing.id, self._until)
                self._send(peer, Inquire(closing.id, self.turn.node, peer, self.links.incarnation))

    def _inquire_by_goal(self, id_: SwapId, goal: str, old: str) -> None:
        self._inquire(_Hold(id_, goal, goal, old, self._until), old)

    def _inquire_as_goal(self, id_: SwapId, middle: str) -> None:
        self._inquire(_Hold(id_, id_[0], middle, "", self._until), middle)

    @property
    def _until(self) -> float:
        """Whoever is asked may have to hear from others first; a lease is what each of them may take."""
        return self.turn.now + max(self.options.absent_s_max, self.options.lease_s)

    def _inquire(self, hold: _Hold, to: str) -> None:
        if hold.via in self.links.of and hold.peer in self.links.of:
            self._holds.append(hold)
            self.turn.see(Kind.CHANGE, peer=to, detail="return: start at the one that is back")
            self._send(hold.via, Inquire(hold.id, self.turn.node, to, self.links.incarnation))

    def _close_anew(self, goal: str, id_: SwapId) -> None:
        """In a new life: what came on the replaced link before comes by way of the goal, and is closed there."""
        told = self._taken_up[id_] = Custody(None, 0, [])
        self.turn.custodies.append(told)
        self._say_closed(goal, id_, told)

    def _say_closed(self, goal: str, id_: SwapId, custody: Custody) -> None:
        """By way of the goal; if there is none, nothing comes by it, and a mover that waits hears it from us."""
        self._say_late(goal if goal in self.links.of else id_[0], Close(id_, False, True), custody)

    def _say_late(self, peer: str, step: Step, custody: Custody | None = None) -> None:
        """Behind all that comes back from further off: a way is closed by it."""
        if self.ready and not self._awaited:
            self._send(peer, step, custody)
            return
        if custody is not None:
            custody.pending += 1
        if custody is not None or (peer, step, None) not in self._late:
            self._late.append((peer, step, custody))

    def _say_what_is_late(self) -> None:
        if not self.ready or self._awaited:
            return
        late, self._late = self._late, []
        for peer, step, custody in late:
            if custody is not None:
                self._send(peer, step, custody)
                self.turn.custodies.append(custody)
            elif self.current is not None and self.current.note.id == step.id:  # else it was undone meanwhile
                self._send(peer, step)

    # --- events that wait

    def holds_back(self, peer: str) -> bool:
        """Does what comes from it wait, if only behind what is about to go on, and was here first?"""
        return bool(self._holds_on(peer)) or peer in self._held_back

    def _holds_on(self, peer: str) -> list[_Hold]:
        return [hold for hold in self._holds if hold.peer == peer]

    @property
    def holding(self) -> str:
        """For people to read; empty if nothing is held back."""
        return f"{self.turn.node} waits for events from before its restart" if self._holds else ""

    def stalls(self, peer: str, message: Message, custody: Custody) -> bool:
        if not self._is_awaited(message) and super().stalls(peer, message, custody):
            return True
        if self._waits_for_goal(message):
            self._behind_goal.append((peer, message, custody))
        elif self._waits_behind(peer, message):
            self._held_back.setdefault(peer, []).append((message, custody))
        else:
            return False
        custody.pending += 1
        return True

    def _waits_for_goal(self, message: Message) -> bool:
        """At the middle: what is held back of the goal was sent before the swap, and goes to the mover while it may."""
        swap = self.current
        if swap is None or swap.note.part is not Part.MIDDLE or not isinstance(message, Close):
            return False
        return message.from_mover and message.id == swap.note.id and swap.note.goal in self._held_back

    def _is_awaited(self, message: Message) -> bool:
        """A mark that is to end a hold: what it stands behind may wait for what is held."""
        return isinstance(message, Mark) and any(
            (message.to, message.id) == (self.turn.node, hold.id) for hold in self._holds
        )

    def _waits_behind(self, peer: str, message: Message) -> bool:
        """Events that are held back, and what stands for all that was sent before it, and must not overtake them.

        If none is held back, it does not wait: what is to end the hold may be behind it, on another link.
        """
        if isinstance(message, Mark):
            return peer in self._held_back and message.to != self.turn.node
        if isinstance(message, _CLOSING_STEPS):
            return peer in self._held_back and all(hold.id != message.id for hold in self._holds_on(peer))
        return self.holds_back(peer) and isinstance(message, Events | Steered | Leave | Moving)

    def unstalled(self) -> list[tuple[str, Message, Custody]]:
        freed = super().unstalled() or (self._freed() if self._holds or self._held_back else [])
        if not freed and self._behind_goal and not self._waits_for_goal(self._behind_goal[0][1]):
            freed, self._behind_goal = self._behind_goal, []
            self.turn.custodies.extend(custody for _, _, custody in freed)
        return freed

    def _freed(self) -> list[tuple[str, Message, Custody]]:
        self._holds = [hold for hold in self._holds if not self._is_over(hold)]
        for peer in list(self._held_back):
            if not self._holds_on(peer):
                held, behind = self._held_back.pop(peer), self._stalled.pop(peer, [])
                self.turn.custodies.extend(custody for _, custody in (*held, *behind))
                return [(peer, message, custody) for message, custody in (*in_order(held), *behind)]
        return []

    def _discard(self, peer: str) -> None:
        super()._discard(peer)
        self.turn.custodies.extend(custody for _, custody in self._held_back.pop(peer, ()))

    def _void_leave(self, peer: str) -> None:
        """It begins anew with us: if it still leaves, it says so again."""
        for waiting in (self._held_back.get(peer, []), self._stalled.get(peer, [])):
            self.turn.custodies.extend(custody for message, custody in waiting if isinstance(message, Leave))
            waiting[:] = [each for each in waiting if not isinstance(each[0], Leave)]

    def _is_over(self, hold: _Hold) -> bool:
        moving = self.current is not None and self.current.note.id == hold.id and not self.current.triangle.over
        answered = hold.marked and self._has_left(hold.old) and not (hold.old and moving) and not self._is_behind(hold)
        return answered or self.turn.now >= hold.until or not self._is_there(hold)

    def _is_behind(self, hold: _Hold) -> bool:
        """Stood the mark behind what is held back itself, or stalled, for another swap? Then that goes on first.

        Unless it waits for the events that are held here, or for a step behind these: the two swaps were in
        opposite directions, and one of both has to go first.
        """
        if hold.via == hold.peer or (hold.via not in self._held_back and hold.via not in self._stalled):
            return False
        ways, known = [hold.via], {hold.via}
        for way in ways:
            holds = self._holds_on(way)
            further = {each.via for each in holds} | {each.old for each in holds if not self._has_left(each.old)}
            further = (further | self._stalled_for(way)) - known
            ways += sorted(further)
            known |= further
        return hold.peer not in known

    def _is_there(self, hold: _Hold) -> bool:
        return hold.via in self.links.of and hold.peer in self.links.of

    def _has_left(self, old: str) -> bool:
        return old not in self.closing or old in self._said_leave

    # --- inquiries

    def _on_inquire(self, peer: str, inquire: Inquire, custody: Custody) -> None:
        if inquire.of == inquire.id[0]:  # the mover begins anew: all that it had comes again, in its order
            self._holds = [hold for hold in self._holds if (hold.id, hold.peer) != (inquire.id, inquire.of)]
        custody.pending += 1
        if inquire.to == self.turn.node:
            self.turn.see(Kind.CHANGE, peer=inquire.of, detail="return: inquire at the other")
            self._inquiries.append((peer, inquire, custody))
        elif inquire.to in self.neighbours():
            self._send(inquire.to, inquire, custody)
            self.turn.custodies.append(custody)
        else:  # whoever was there had no more to say when it left
            self._marks.append((Mark(inquire.id, inquire.of, inquire.life), custody))

    def _await_no_more(self, *peers: str) -> None:
        for peer in peers:
            if self._awaited.pop(peer, None) is not None and not self._awaited:
                self._say_what_is_late()

    def unlinked(self, peer: str) -> Iterator[OverlayEvent]:
        self._await_no_more(peer)
        for closing in self.closing.values():
            if closing.goal == peer not in self.links.of and closing.id in self._taken_up:
                self._close_anew(peer, closing.id)  # what was said by way of it may be lost with it
        yield from super().unlinked(peer)

    def _on_mark(self, peer: str, mark: Mark, custody: Custody) -> None:
        if mark.to == self.turn.node and self._awaited.get(peer, ("", 0.0))[0] == mark.id:
            if mark.life == self.links.incarnation:
                self._await_no_more(peer)
        elif mark.to == self.turn.node:
            self.turn.see(Kind.CHANGE, detail="return: mark at the one that is back")
            for hold in self._holds:
                if hold.id == mark.id and mark.life == self.links.incarnation:
                    hold.marked, hold.by = True, mark.by
                    self._ask_again(hold)
        else:
            custody.pending += 1
            self._marks.append((mark, custody))

    def left(self, peer: str) -> None:
        super().left(peer)
        self._left_in[peer] = self.links.of[peer].peer_incarnation
        for hold in self._holds:
            self._ask_again(hold)

    def _ask_again(self, hold: _Hold) -> None:
        """If the life that has left the old link is another than the one that has answered."""
        left_in = self._left_in[hold.old] if hold.old in self._said_leave else hold.by
        if hold.marked and hold.by not in (0, left_in):
            hold.marked = False
            self._send(hold.via, Inquire(hold.id, self.turn.node, hold.old, self.links.incarnation))

    def answer_inquiries(self) -> None:
        if not self.ready or not (self._marks or self._inquiries):
            return
        marks, self._marks = self._marks, []
        for mark, custody in marks:
            self._say(mark.to, mark, custody)
        inquiries, self._inquiries = self._inquiries, []
        for peer, inquire, custody in inquiries:
            if self._still_comes(peer, inquire):
                self._inquiries.append((peer, inquire, custody))
            else:
                self.turn.see(Kind.CHANGE, peer=inquire.of, detail="return: answer at the other")
                self._say(peer, Mark(inquire.id, inquire.of, inquire.life, self.links.incarnation), custody)

    def _say(self, peer: str, mark: Mark, custody: Custody) -> None:
        self._send(peer, mark, custody)
        self.turn.custodies.append(custody)

    def _still_comes(self, peer: str, inquire: Inquire) -> bool:
        """To its goal the middle answers when all has come that the mover had sent on the old link."""
        if peer != inquire.of:
            return False
        swap, mover = self.current, inquire.id[0]
        under_way = swap is not None and swap.note.id == inquire.id and not swap.triangle.handed
        return under_way or (inquire.id in self._taken_up and not self._has_left(mover))

    # --- the goal

    def _end_as_goal(self) -> None:
        swap = self.current
        if swap is None or swap.note.part is not Part.GOAL:
            return
        pair = {swap.mover, swap.note.middle}
        for id_ in [id_ for id_, each in self.ended.items() if {id_[0], each.middle} == pair]:
            del self.ended[id_]  # they have been neighbours again since, so nothing of it is under way
            self._ended_until.pop(id_, None)
        while len(self.ended) >= ENDED_MAX:
            del self.ended[next(iter(self.ended))]
        self.ended[swap.note.id] = Ended(swap.note.id, swap.note.middle, swap.alone, swap.note.unheard)
        self._remember_ended(swap.note.id)

    def _remember_ended(self, id_: SwapId) -> None:
        """For as long as the others may need it; and if one of them was lost, for as long as there is room."""
        self._ended_until[id_] = inf if self.ended[id_].alone else self.turn.now + self.options.close_s_max

    def share(self, middle: str) -> Iterator[OverlayEvent]:
        """What the middle was to bring from here to the mover: it has died, and its new life does not lead there.

        Or it is about to be given up with that; so whoever waits for it waits for what is sent now, too. If it is not
        known yet that the mover has moved, it may; then that is for later.
        """
        hops = {each.id[0]: each.id[0] for each in self.ended.values() if each.middle == middle}
        swap = self.current
        if swap is not None and swap.note.part is Part.GOAL and swap.note.middle == middle:
            swap.owes = not swap.note.opened
            if swap.note.opened:
                hops[swap.mover] = swap.mover if swap.triangle.split else middle
        for mover, hop in hops.items():
            if middle in self.links.of and (owed := self.links.of[middle].owed_to(mover)):
                custody = Custody(None, 0, [])
                self.turn.custodies.append(custody)
                yield Arrived(middle, [Events([event for event, _ in owed])], custody, (), (hop,))
                for event, waiting in owed if mover in self.links.of else ():
                    for each in list(waiting):
                        self.links.of[mover].entrust(event, middle, each)

    def _third_of(self, peer: str, id_: SwapId) -> str:
        return _third(self.ended[id_], peer) if id_ in self.ended else ""

    def _passes_on(self, peer: str, close: Close) -> bool:
        """A swap that has ended here without one of the others, which is back."""
        third = self._third_of(peer, close.id)
        return bool(third) and close.from_mover == (peer == close.id[0])

    def _begin(self, note: SwapNote) -> Swapping:
        swap = super()._begin(note)
        swap.triangle.relays = self.relays
        return swap

    def relays(self, peer: str) -> tuple[str, ...]:
        """Who needs even those events of ``peer`` that have been here before."""
        return tuple(dict.fromkeys(third for each in self.ended.values() if (third := _third(each, peer))))

    def skips(self, peer: str, message: Message | None = None) -> tuple[str, ...]:
        """Who gets events of ``peer`` without us: itself; of a swap that is over, those to whom it has flooded them.

        And the goal, of all that the middle has sent on the replaced link: the middle brings it there, as ever.
        """
        closing = self.closing.get(peer)
        if not isinstance(message, Steered) or message.mode is not Mode.FLOOD:
            return (peer, closing.goal) if closing is not None and closing.part is Part.MOVER else (peer,)
        if closing is not None:
            return (peer, closing.goal)
        ended = (each for each in self.ended.values() if each.id[1] == message.swap)
        return (peer, *(third for each in ended if (third := _third(each, peer))))

    def _forget_ended(self) -> None:
        for id_ in [id_ for id_, until in self._ended_until.items() if self.turn.now >= until]:
            del self._ended_until[id_]
            self.ended.pop(id_, None)
            self.links.changed = True

    @property
    def returning(self) -> bool:
        return bool(self._holds or self._held_back or self._marks or self._inquiries)

    def _returns_deadline(self) -> float:
        if not self._holds and not self._awaited:
            return min(self._ended_until.values()) if self._ended_until else inf
        asked = [until for _, until in self._awaited.values()]
        return min([*(hold.until for hold in self._holds), *asked, *self._ended_until.values()])


def _third(ended: Ended, peer: str) -> str:
    """Of the mover and the middle, the one that ``peer`` is not; empty if it is neither."""
    mover, middle = ended.id[0], ended.middle
    return middle if peer == mover else mover if peer == middle else ""
