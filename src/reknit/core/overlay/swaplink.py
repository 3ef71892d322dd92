"""SwapLink(a, b, c): the link a - b becomes a link a - c, while events flow (SWAP, section IV and Figure 5).

a is the *mover*, b the *middle*, c the *goal*. Twelve messages, numbered as in the dialogue of ``tests/stories``:

    1  mover  -> middle  lock              7  goal   -> mover   swap
    2  middle -> goal    lock              8  mover  -> goal    open(acb)
       goal dials mover: the new link      9  mover  -> middle  close(ab)
    3  goal   -> middle  lockAck           10 middle -> goal    close(ab) and open(bca)
    4  middle -> mover   lockAck           11 middle -> mover   close(ba)
    5  mover  -> middle  swap              12 mover  -> goal    close(ba)
    6  middle -> goal    swap, with tables

Up to 3 the swap may be given up: by the mover as long as it has not accepted the new link, by the goal as long as
it has not got it; both within a lease. From 3 on it is carried through. What each of the three has to know for that
is in its notes, which its next life is given; steps last as events do, and are sent again, in their place among the
events, to a broker that has lost its memory. Steps that are passed on (3 to 4, 5 to 6 to 7, 9 to 10 and 11, 11 to 12)
are held in custody like events, so whoever passes them on may die; the others are said again from the notes. A swap
in which somebody has lost his memory is *torn*: then the tables that travelled with it are not relied on, and each
tells its new neighbour all. And what a broker had sent on the old link may be lost while what it sent later on the new
way is not; so the close of the next life goes the new way too, behind all that comes back from further off, and what
waits for it is sorted. The replaced link is closed only when it is empty in both directions.

Owns: the swap that this broker takes part in, at most one. Must not know: routing, which is told through events.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from reknit.core.links.custody import Custody
from reknit.core.links.links import Answered
from reknit.core.overlay.events import (
    Bypassed,
    Merged,
    OverlayEvent,
    Paused,
    Renamed,
    Resumed,
    SidesWanted,
    Split,
    Tell,
    TurnedDown,
    Unlinked,
)
from reknit.core.overlay.history import change_name
from reknit.core.overlay.notes import Part, Stage
from reknit.core.overlay.swapreturns import SwapReturns
from reknit.core.overlay.swapstate import STEPS, Step, Swapping
from reknit.trace.records import Kind
from reknit.wire.messages import (
    Close,
    Events,
    Inquire,
    Lock,
    LockAck,
    LockNack,
    Mark,
    Open,
    Seated,
    Side,
    Steered,
    Swap,
    Unlock,
)

__all__ = ["STEPS", "Step", "SwapLinks"]


class SwapLinks(SwapReturns):
    # --- a new life

    def take_up(self) -> None:
        """Say again what the life before may have said in vain."""
        for closing in self.closing.values():
            if closing.part is Part.MOVER:
                self._send(closing.goal, Open(closing.id, True))
            else:
                self._unseated[closing.goal] = closing.id
                self._send(closing.goal, Close(closing.id, True, True))
            self._close_anew(closing.goal, closing.id)
        self._inquire_all()
        swap = self.current
        if swap is None:
            return
        note = swap.note
        swap.give_up_at = self.turn.now + self.options.lease_s
        swap.begun = self.turn.now
        self._enter(swap)
        match note.part, note.stage:
            case Part.MOVER, Stage.LOCKED:
                self.history.end(change_name(note.id), f"{self.turn.node} was restarted before anything had changed")
                self._send(note.middle, Unlock(note.id))
                self._set_current(None)
            case Part.MOVER, Stage.FLOOD:
                self._say_late(note.middle, Swap(note.id, True))
            case Part.MOVER, Stage.MOVED:
                self._send(note.goal, Open(note.id, True))
                self._send(note.middle, Open(note.id, True))
                self._inquire_by_goal(note.id, note.goal, note.middle)
                self._say_late(note.goal, Close(note.id, True, True))
            case Part.GOAL, Stage.LOCKED:
                swap.ask_at = self.turn.now
            case Part.GOAL, Stage.FLOOD:
                self._inquire_as_goal(note.id, note.middle)
                if not note.opened:
                    self._say_late(note.middle, LockAck(note.id, True))
            case _:
                pass  # the middle waits for what the others say again

    # --- steps

    def on_step(self, peer: str, step: Step, custody: Custody) -> Iterator[OverlayEvent]:
        swap = self.current
        if isinstance(step, Lock):
            self._on_lock(peer, step)
        elif isinstance(step, Seated):
            yield from self._on_seated(peer, step)
        elif isinstance(step, Inquire):
            self._on_inquire(peer, step, custody)
        elif isinstance(step, Mark):
            self._on_mark(peer, step, custody)
        elif swap is None or swap.note.id != step.id:
            yield from self._on_stale(peer, step, custody)
        elif not self.ready and self._waits_for_tables(swap, step):
            custody.pending += 1
            self._early.append((peer, step, custody))
        else:
            if isinstance(step, LockAck | Swap | Open | Close) and step.torn:
                self._tear(swap)
            yield from self._on_own(swap, peer, step, custody)
            yield from self._drain(swap)

    def _waits_for_tables(self, swap: Swapping, step: Step) -> bool:
        """A broker that has just begun keeps these behind the events that it keeps: they close a way."""
        match swap.note.part:
            case Part.MIDDLE:
                return isinstance(step, LockAck | Swap)
            case Part.MOVER:
                return isinstance(step, Swap | Close)
            case Part.GOAL:
                return False

    def now_ready(self) -> Iterator[OverlayEvent]:
        self.ready = True
        early, self._early = self._early, []
        for peer, step, custody in early:
            self.turn.custodies.append(custody)
            yield from self.on_step(peer, step, custody)
        self._say_what_is_late()

    def _on_own(self, swap: Swapping, peer: str, step: Step, custody: Custody) -> Iterator[OverlayEvent]:
        match step:
            case LockNack():
                yield from self._on_nack(swap, step)
            case Unlock():
                yield from self._on_unlock(swap)
            case LockAck():
                yield from self._on_lock_ack(swap, peer, custody)
            case Side(mover=mover, entries=entries):
                self._see(swap, peer, "side")
                swap.parts[0 if mover else 1].extend(entries)
            case Swap():
                yield from self._on_swap(swap, peer, step, custody)
            case Open():
                yield from self._on_open(swap, peer, step.torn)
            case Close(from_mover=True):
                yield from self._on_close_ab(swap, peer, custody)
            case Close():
                yield from self._on_close_ba(swap, peer, custody)
            case _:
                pass

    def _on_stale(self, peer: str, step: Step, custody: Custody) -> Iterator[OverlayEvent]:
        """Of a swap that is over here, or was given up."""
        closing = next((each for each in self.closing.values() if each.id == step.id), None)
        if closing is not None:
            if isinstance(step, Close) and peer != closing.goal:  # nobody may forget the link before this is said
                self._say_closed(closing.goal, step.id, custody)
        elif isinstance(step, LockAck):
            self._send(peer, Unlock(step.id))  # we have given it up, and the mover too; the goal came too late
        elif isinstance(step, Close) and self._passes_on(peer, step):
            self._pass_on(self._third_of(peer, step.id), peer, step, custody)
        elif isinstance(step, Close) and step.from_mover and peer in self.neighbours() and peer != step.id[0]:
            self._heard_at_last(step.id)
            self._send(peer, Seated(step.id))  # a middle without memory
            yield from self._tell_anew(peer)

    def _pass_on(self, third: str, peer: str, close: Close, custody: Custody) -> None:
        if third in self.links.of:
            self._send(third, Close(close.id, close.from_mover, True), custody)
        elif close.from_mover:  # the middle had no more to say when it left
            self._send(peer, Close(close.id, False, True), custody)

    def _on_seated(self, peer: str, step: Seated) -> Iterator[OverlayEvent]:
        """The goal of a swap in which somebody was lost, or has lost his memory, goes by the tree that there is now."""
        self.turn.see(Kind.CHANGE, peer=peer, detail="swap: seated at the middle")
        self._heard_at_last(step.id)  # a middle without memory says so itself
        if self._unseated.get(peer) == step.id:
            del self._unseated[peer]
        elif peer in self.neighbours():  # we have not told it all, since for us the swap went well
            yield from self._tell_anew(peer)

    # --- 3 to 7

    def on_answered(self, answered: Answered) -> Iterator[OverlayEvent]:
        """3: the goal has the new link."""
        swap = self.current
        assert swap is not None
        self.links.add(swap.mover, swap.note.address, quiet=True)
        self.links.complete(answered, swap.note.address)
        self._note(swap, stage=Stage.FLOOD)
        swap.ask_at = None
        self._see(swap, swap.mover, "connectAck")
        yield Paused(swap.note.middle)
        self.links.of[swap.note.middle].share(swap.mover)
        self._send(swap.note.middle, LockAck(swap.note.id, swap.torn))
        swap.triangle.flooding = True

    def _on_lock_ack(self, swap: Swapping, peer: str, custody: Custody) -> Iterator[OverlayEvent]:
        note = swap.note
        self._see(swap, peer, "lockAck")
        if note.part is Part.MIDDLE and peer == note.goal:
            if note.stage is Stage.LOCKED:
                self._note(swap, stage=Stage.FLOOD)
                yield SidesWanted(swap.mover, note.goal)
                yield Paused(swap.mover)
                yield Paused(note.goal)
                swap.triangle.flooding = True
            self._send(swap.mover, LockAck(note.id, swap.torn), custody)
        elif note.part is Part.MOVER and peer == note.middle and note.stage is Stage.FLOOD:
            swap.triangle.reclosed = True
        elif note.part is Part.MOVER and peer == note.middle and note.stage is Stage.OPEN:
            self._note(swap, stage=Stage.FLOOD)
            self.links.of[note.goal].awaited = False
            yield Paused(note.middle)  # what it wants now travels in the tables
            self._send(note.middle, Swap(note.id, swap.torn))
            swap.triangle.flooding = True

    def _on_swap(self, swap: Swapping, peer: str, step: Swap, custody: Custody) -> Iterator[OverlayEvent]:
        note = swap.note
        self._see(swap, peer, "swap")
        if note.part is Part.MIDDLE and peer == swap.mover:
            yield from self._send_sides(swap)
            self._send(note.goal, Swap(note.id, swap.sides is None), custody)
        elif note.part is Part.GOAL and peer == note.middle:
            if not step.torn and not note.again:  # a new life has no table that could be parted by them
                swap.sides = swap.parts
            swap.parts = ([], [])
            swap.triangle.crossed = True
            self._send(swap.mover, Swap(note.id, swap.sides is None), custody)
        elif note.part is Part.MOVER and peer == note.goal and note.stage is Stage.FLOOD:
            yield from self._move(swap)

    def _move(self, swap: Swapping) -> Iterator[OverlayEvent]:
        """8 and 9: the mover takes to the new link."""
        note = swap.note
        swap.triangle.flush()
        self._note(swap, stage=Stage.MOVED)
        self.turn.tell(Kind.LINK_MOVED, peer=note.goal, detail=note.middle)
        self._send(note.goal, Open(note.id, swap.torn))
        self._send(note.middle, Close(note.id, True, swap.torn))
        swap.triangle.moved = True
        yield Renamed(note.middle, note.goal, swap.torn)

    # --- 8 to 12

    def _on_open(self, swap: Swapping, peer: str, told: bool) -> Iterator[OverlayEvent]:
        """``told``: the mover will tell all; what it wanted when the swap began does not count then."""
        note = swap.note
        if note.part is Part.MIDDLE and not swap.triangle.handed:  # a mover without memory: its close comes later
            self._unseated[note.goal] = note.id
            self._send(note.goal, Open(note.id, True))  # for what we tell now is without the mover
            yield Bypassed(swap.mover, note.goal) if note.goal in self.neighbours() else TurnedDown(swap.mover)
        if note.part is not Part.GOAL or peer != swap.mover or note.opened:
            return
        self._see(swap, peer, "open")
        swap.triangle.flush()
        self._note(swap, opened=True)
        swap.triangle.opened = swap.triangle.crossed = True
        self.turn.tell(Kind.LINK_TAKEN, peer=swap.mover, detail=note.middle)
        if told or swap.sides is None:
            yield Bypassed(note.middle, swap.mover, wholly=False)
        else:
            swap.triangle.split = True
            yield Split(note.middle, swap.mover, swap.sides[1], swap.sides[0])
            yield Tell(swap.mover) if swap.torn else Resumed(swap.mover)

    def _tell_middle(self, swap: Swapping) -> Iterator[OverlayEvent]:
        """The goal, once it is split and the middle goes by the new tree."""
        if swap.triangle.split and swap.note.closed_ab and not swap.told_middle:
            swap.told_middle = True
            if swap.torn:
                self._send(swap.note.middle, Seated(swap.note.id))
                yield Tell(swap.note.middle)
            else:
                yield Resumed(swap.note.middle)

    def heard(self, peer: str) -> Iterator[OverlayEvent]:
        """``peer`` has told all that it wants: now the goal of a torn swap knows what is the mover's."""
        swap = self.current
        if swap is not None and self.defers(peer) and peer == swap.mover:
            swap.triangle.flush()
            swap.triangle.split = True
            yield Tell(swap.mover)
            yield Tell(swap.note.middle)
            yield from self._tell_middle(swap)
            yield from self._drain(swap)

    def _on_close_ab(self, swap: Swapping, peer: str, custody: Custody) -> Iterator[OverlayEvent]:
        note = swap.note
        self._see(swap, peer, "close(ab)")
        if note.part is Part.MIDDLE and not swap.triangle.handed:
            swap.triangle.flush_for_good(note.goal)
            if peer == note.goal:
                swap.triangle.sort()
            self.turn.tell(Kind.LINK_HANDED, peer=swap.mover, detail=note.goal)
            self._send(note.goal, Close(note.id, True, swap.torn), custody)
            if self.ready:  # behind all that has come again, too; by way of the goal it could overtake that
                self._send(swap.mover, Close(note.id, False, swap.torn), custody)
            elif note.again:
                self._close_anew(note.goal, note.id)
            swap.triangle.handed = swap.triangle.over = True
            self._close(swap.mover, swap)
            if swap.torn:
                self._unseated[note.goal] = note.id
            if note.goal in self.neighbours():
                yield Merged(swap.mover, note.goal, None if swap.sides is None else swap.sides[1])
            else:  # it does not lead there from here, and tells nothing any more
                yield Unlinked(swap.mover)
        elif note.part is Part.GOAL and peer == note.middle:
            swap.triangle.flush()
            self._note(swap, closed_ab=True, unheard=False)
            swap.triangle.closed_ab = True
            swap.told_middle = False  # if this comes again, so has the middle, without memory
            yield from self._tell_middle(swap)
        elif note.part is Part.GOAL and note.middle in self.links.of:
            self._send(note.middle, Close(note.id, True, True), custody)
        elif note.part is Part.GOAL:  # it had no more to say when it left
            self._send(swap.mover, Close(note.id, False, True), custody)

    def _on_close_ba(self, swap: Swapping, peer: str, custody: Custody) -> Iterator[OverlayEvent]:
        note = swap.note
        self._see(swap, peer, "close(ba)")
        if note.part is Part.MOVER and note.stage is Stage.MOVED and not swap.triangle.over:
            swap.triangle.flush()
            if peer == note.goal:
                swap.triangle.sort()
            self._send(note.goal, Close(note.id, False, swap.torn), custody)
            swap.triangle.over = True
            self._close(note.middle, swap)
        elif note.part is Part.GOAL and peer == swap.mover:
            swap.triangle.flush()
            self._note(swap, closed_ba=True)
            swap.triangle.closed_ba = True
        elif note.part is Part.GOAL and peer == note.middle:
            self._send(swap.mover, Close(note.id, False, True), custody)
        yield from ()

    # --- events

    def take(self, peer: str, message: Events | Steered, custody: Custody) -> Iterator[OverlayEvent]:
        swap = self.current
        assert swap is not None
        swap.triangle.take(peer, message, custody)
        yield from self._drain(swap)

    def _drain(self, swap: Swapping) -> Iterator[OverlayEvent]:
        yield from swap.triangle.release()
        note, triangle = swap.note, swap.triangle
        closed = note.opened and note.closed_ab and note.closed_ba
        over = triangle.over or (closed and triangle.split)
        if over and triangle.empty and self.current is swap:
            triangle.flush()
            self._see(swap, "", "end")
            self.history.end(change_name(note.id))
            self._end_as_goal()
            self._set_current(None)
            if swap.wish is not None:
                self._answer(swap.wish, "")

    def renewed(self, peer: str, reborn: bool) -> Iterator[OverlayEvent]:
        """One of the others has lost its memory, unless it is a goal that dials again before it has the link."""
        if reborn:
            self._discard(peer)
            yield from self.share(peer)
            self._doubt_goal(peer)
        else:
            self._void_leave(peer)
        swap = self.current
        if swap is not None and self.involves(peer) and (swap.note.stage is not Stage.OPEN or peer != swap.note.goal):
            self._tear(swap)
            if reborn:
                self._say_again(swap, peer)

    def _doubt_goal(self, goal: str) -> None:
        """It has died, before it had the mover or with its word that it has him: it hears again that we are out."""
        doubts = [each.id for each in self.closing.values() if each.goal == goal and each.part is Part.MIDDLE]
        under_way = self.current.note.id if self.current is not None else None
        if not doubts and self._unseated.get(goal, under_way) != under_way:
            doubts = [self._unseated[goal]]
        for id_ in doubts:
            self._unseated[goal] = id_
            self._send(goal, Close(id_, True, True))

    def _say_again(self, swap: Swapping, peer: str) -> None:
        """What the former life of ``peer`` had heard, and had passed on or not."""
        note = swap.note
        if note.part is Part.GOAL and note.stage is Stage.FLOOD and not note.opened:
            self._say_late(note.middle, LockAck(note.id, True))  # what came before it may have to come again itself
        elif note.part is Part.MOVER and note.stage is Stage.MOVED and peer == note.middle:
            self._send(note.middle, Open(note.id, True))

    # --- times

    def deadline(self) -> float | None:
        times = [wish.try_at for wish in self.wishes if self.current is None or self.current.wish is not wish]
        swap = self.current
        if swap is not None:
            if swap.note.stage is Stage.LOCKED:
                times.append(swap.give_up_at)
            if swap.ask_at is not None:
                times.append(swap.ask_at)
            times.append(self._causes_until(swap))
        times.append(self._returns_deadline())
        return min((at for at in times if at < inf), default=None)

    def _causes_until(self, swap: Swapping) -> float:
        since = swap.triangle.waiting_since
        return inf if since is None or swap.torn else since + self.options.cause_s_max

    def due(self) -> Iterator[OverlayEvent]:
        now, swap = self.turn.now, self.current
        self._forget_ended()
        self._await_no_more(*[peer for peer, (_, until) in self._awaited.items() if now >= until])
        if swap is not None and swap.ask_at is not None and now >= swap.ask_at:
            self._ask(swap)
        if swap is not None and swap.note.stage is Stage.LOCKED and now >= swap.give_up_at:
            yield from self._lease_over(swap)
        if swap is not None and now >= self._causes_until(swap):
            self._tear(swap)
            yield from self._drain(swap)
        for wish in list(self.wishes):
            if now >= wish.try_at and (self.current is None or self.current.wish is not wish):
                self._try(wish)
