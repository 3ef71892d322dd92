"""A swap of which one broker never comes back: the others end it without it.

Once the new link is there, a swap is carried through, and waits for whoever has died. But not for ever: one of the
three that has been away for a lease (``absent_s_max``), or that says it knows nothing of the link, is taken for lost.
Who decides then, and what:

    mover, before it has moved   the goal is lost, or the middle before it has answered    it undoes the swap: Unlock
                                 the middle is lost, and the goal is flooding              it moves by itself
    mover, when it has moved     the middle is lost                                        it is done
    middle                       the mover is lost                                         it hands the link over
                                 the goal is lost                                          it says so to the mover
    goal, before the open        the mover is lost                                         it drops the new link
    goal, after it               the middle, or the mover, is lost                         it waits for them no more

But a word may die with whoever has said it, when that has ended the swap, and knows nothing of it in its next life. So
the middle and the goal ask every lease (``lease_s``) for what they wait for. Whoever is in the swap no more need not
remember how it has ended: its links in the tree show it.

    asked     by           its links                 its answer
    mover     the middle   the middle is one         it is undone: Unlock
                           it is being left          it has moved: close(ab)
              the goal     the goal is one           it has moved: open, all that it wants, close(ba)
                           it is being left          it is none: Unlock
    middle    the goal     the mover is one          it is undone: Unlock
                           it is none any more       it is handed over: close(ab)

Why nobody stays locked: whoever forgets the swap before the mover is done has dropped its link to it. So the mover
hears what it waits for, is refused, or loses them after a lease. The middle waits for the mover, which is in the swap,
and comes to its end, or answers, or refuses, or is lost. The goal waits for both, in the same way. Whoever has dropped
a link may ask for one anew, for a join or another change, before the other end has called: that is a refusal, too.

Why that never closes a cycle: the move is the one step that changes the tree, and only the mover makes it, or undoes
what came before. No answer makes a link that its mover does not hold already. A link that is not in the tree yet, or
not any more, is greeted as such, so that no end without memory takes it for one; and whoever drops a link that the
other may hold for one of the tree refuses it from then on, in all its lives. A broker that comes back after all finds
itself refused by those that have gone on without it, ends the swap in the same way, and if it has lost its link to the
tree by that, it asks to be joined like a stranger, by a search. If one of them was drained meanwhile, and has left for
good, the other says so when it refuses (``links/former``): else the search would wait for an answer for ever.

What was on its way to or through the one that is lost is lost with it.

Owns: the decision, and questions. Must not know: why somebody is away.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from math import inf

from reknit.core.links.custody import Custody
from reknit.core.links.links import Links
from reknit.core.overlay.events import OverlayEvent, Replayed, Resumed, Split, Tell
from reknit.core.overlay.history import History, change_name
from reknit.core.overlay.notes import Part, Stage
from reknit.core.overlay.options import OverlayOptions
from reknit.core.overlay.swaplink import SwapLinks
from reknit.core.overlay.swapstate import Step, Swapping
from reknit.core.turn import Turn
from reknit.trace.records import Kind
from reknit.wire.messages import Ask, Close, LockNack, Open, Unlock

__all__ = ["SwapDeaths"]


class SwapDeaths(SwapLinks):
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
        # Neighbours by a swap that has ended, if they think so, too; and whom to ask if they do not.
        self._unsure: dict[str, tuple[Custody, dict[str, str]]] = {}
        self._undone: tuple[Custody, dict[str, str]] = (Custody(None, 0, []), {})  # what we said last, and the goal
        self.to_be_called: dict[str, str] = {}  # instead of such a neighbour, which is away: it may have left for good

    def deadline(self) -> float | None:
        if self.current is None and not self.wishes and not self._unsure:  # nearly always, and asked after every turn
            at = self._returns_deadline()
            return at if at < inf else None
        times = (super().deadline(), self._next_absence(), self._asks_at())
        return min((at for at in times if at is not None and at < inf), default=None)

    def _next_absence(self) -> float:
        """When the next of the others has been away for a lease."""
        times = [self._lost_at(peer) for peer in (*self._others(), *self._unsure)]
        return min((at for at in times if at > self.turn.now), default=inf)

    def _others(self) -> tuple[str, ...]:
        """Those that this broker cannot give up a swap without, in which they are."""
        swap = self.current
        if swap is None or swap.triangle.over:
            return ()
        if swap.note.stage is Stage.LOCKED and swap.note.part is not Part.MIDDLE:
            return ()  # it has a lease of its own
        return tuple(name for name in swap.triangle.members if name != self.turn.node)

    def _lost_at(self, peer: str) -> float:
        link = self.links.of.get(peer)
        if link is None:
            return -inf
        return inf if link.away_since is None else link.away_since + self.options.absent_s_max

    # --- questions

    def _asks_at(self) -> float:
        """When the middle or the goal, which cannot end it by themselves, ask how it stands."""
        swap = self.current
        if swap is None or swap.note.part is Part.MOVER or swap.note.stage is Stage.LOCKED or swap.triangle.over:
            return inf
        return swap.give_up_at

    def due(self) -> Iterator[OverlayEvent]:
        yield from super().due()
        if self.current is not None and self.turn.now >= self._asks_at():
            self._ask_on(self.current)

    def _ask_on(self, swap: Swapping) -> None:
        note = swap.note
        swap.give_up_at = self.turn.now + self.options.lease_s
        said = {swap.mover: note.closed_ba, note.middle: note.closed_ab or note.part is Part.MIDDLE}
        for peer in (peer for peer, all_said in said.items() if not all_said and peer not in self._stalled):
            if peer in self.links.of and self.links.of[peer].greeted:
                self._send(peer, Ask(note.id, note.part is Part.GOAL))

    def _on_stale(self, peer: str, step: Step, custody: Custody) -> Iterator[OverlayEvent]:
        if not isinstance(step, Ask):
            yield from super()._on_stale(peer, step, custody)
            return
        part = Part.MOVER if step.id[0] == self.turn.node else Part.MIDDLE if step.goal else Part.GOAL
        self.turn.see(Kind.CHANGE, peer=peer, detail=f"swap: ask at the {part.value}")
        if part is Part.MOVER:
            yield from self._say_as_mover(peer, step)
        elif step.goal:
            undone = step.id[0] in self.neighbours()
            self._send(peer, Unlock(step.id) if undone else Close(step.id, True, True))
        else:
            self._send(peer, LockNack(step.id, f"{self.turn.node} has forgotten the swap", retry=True))

    def _say_as_mover(self, peer: str, ask: Ask) -> Iterator[OverlayEvent]:
        linked = peer in self.neighbours()
        if ask.goal and linked:
            self._send(peer, Open(ask.id, True))
            yield from self._tell_anew(peer)
            self._say_late(peer, Close(ask.id, False, True), self._held_by_turn())
        else:
            self._send(peer, Unlock(ask.id) if ask.goal or linked else Close(ask.id, True, True))

    # --- those who are lost

    @property
    def attentive(self) -> bool:
        """Is there anything to do at the end of a turn?"""
        under_way = self.current is not None or self._unsure or self.to_be_called
        return bool(under_way or self._stalled or self.returning)

    def give_up_the_lost(self) -> Iterator[OverlayEvent]:
        """At the end of a turn."""
        lost = [peer for peer in self._others() if self._lost_at(peer) <= self.turn.now]
        if lost and self.current is not None:
            yield from self._without(self.current, lost, refused=False)
        for peer in list(self._unsure):
            self._call_instead_of(peer)

    def _call_instead_of(self, peer: str) -> None:
        """A neighbour by a swap that has ended; if it does not come to say so, another of the three may know why."""
        told, others = self._unsure[peer]
        if told.pending == 0 or peer not in self.links.of:
            del self._unsure[peer]
        elif self._lost_at(peer) <= self.turn.now:
            del self._unsure[peer]
            self.to_be_called |= {name: address for name, address in others.items() if name != peer}

    def in_doubt(self) -> dict[str, str]:
        """For the next life: who else could join us to the tree, if the middle of a swap that we undid refuses us."""
        told, others = self._undone
        return others if told.pending > 0 else {}

    def to_be_asked(self, peer: str) -> dict[str, str]:
        """If ``peer`` turns us out: who could join us to the tree again, with addresses.

        Nobody, unless it is a neighbour by a swap that is carried through: else an operator may have removed the link.
        """
        told, known = self._unsure.get(peer, (None, {}))
        if told is not None and told.pending > 0:
            return known
        if peer in self._others():
            return self._addresses(self._others())
        replaced = {old: each.address for old, each in self.closing.items() if each.goal == peer}
        return self._addresses((peer,)) | replaced if replaced else {}

    def _addresses(self, names: tuple[str, ...]) -> dict[str, str]:
        return {name: self.links.of[name].address for name in names if name in self.links.of}

    def closed(self, peer: str, emptied: bool = True) -> None:
        """A replaced link is empty only when the goal has heard all; if it is given up before, the mover sees to it."""
        closing = self.closing.get(peer)
        super().closed(peer, emptied)
        if closing is not None and closing.part is Part.MOVER and not emptied:
            told = self._doubt(closing.goal, {closing.goal: "", peer: closing.address})
            self._send(closing.goal, Close(closing.id, False, True), told)

    def turned_out(self, peer: str) -> Iterator[OverlayEvent]:
        """``peer`` says that there is no link between us: it has ended the swap without us."""
        yield Replayed(peer)
        yield from self.share(peer)
        self._parted_from(peer)
        if peer in self._others() and self.current is not None:
            yield from self._without(self.current, [peer], refused=True)

    def _without(self, swap: Swapping, lost: list[str], refused: bool) -> Iterator[OverlayEvent]:
        self._tear(swap)
        for peer in (peer for peer in lost if peer not in swap.without):
            swap.without[peer] = None
            self._see(swap, peer, "without")
        match swap.note.part:
            case Part.MOVER:
                yield from self._move_without(swap, lost, refused)
            case Part.MIDDLE:
                yield from self._hand_without(swap, lost)
            case Part.GOAL:
                yield from self._take_without(swap, lost)

    def _doubt(self, peer: str, others: dict[str, str]) -> Custody:
        """Of the word that ends it: until that is settled ``peer`` may have ended it otherwise, and refuse us.

        ``others``: those of the swap, with addresses.
        """
        custody = self._held_by_turn()
        self._unsure[peer] = (custody, others | self._addresses(tuple(others)))
        return custody

    def _held_by_turn(self) -> Custody:
        """Of something that nobody has sent us."""
        custody = Custody(None, 0, [])
        self.turn.custodies.append(custody)
        return custody

    # --- the mover

    def _move_without(self, swap: Swapping, lost: list[str], refused: bool) -> Iterator[OverlayEvent]:
        note = swap.note
        if note.stage is Stage.MOVED:
            if note.middle in lost or refused:
                yield from self._end_without_middle(swap)
        elif note.goal in lost or note.stage is Stage.OPEN or refused:
            yield from self._undo(swap, f"{lost[0]} did not come back in time")
        else:
            yield from self._move(swap)

    def _end_without_middle(self, swap: Swapping) -> Iterator[OverlayEvent]:
        note = swap.note
        swap.triangle.flush()
        swap.triangle.sort()
        self._send(note.goal, Close(note.id, True, True))  # for the middle, should it come back
        self._send(note.goal, Close(note.id, False, True), self._doubt(note.goal, self._addresses(self._others())))
        swap.triangle.over = True
        self._close(note.middle, swap)
        yield from self._drain(swap)

    def _on_close_ba(self, swap: Swapping, peer: str, custody: Custody) -> Iterator[OverlayEvent]:
        """Where all goes well, the mover is sure of the goal once that has settled what the middle has said last."""
        was_over = swap.triangle.over
        others = {swap.note.goal: "", swap.note.middle: ""}
        known = others | self._addresses(tuple(others))
        yield from super()._on_close_ba(swap, peer, custody)
        if swap.note.part is Part.MOVER and swap.triangle.over and not was_over:
            self._unsure[swap.note.goal] = (custody, known)

    def _undo(self, swap: Swapping, why: str) -> Iterator[OverlayEvent]:
        """Nobody has moved: the tree is the old one."""
        note = swap.note
        swap.triangle.flush()
        told = self._doubt(note.middle, self._addresses(self._others()))
        self._undone = (told, self._addresses((note.goal,)))
        self._send(note.middle, Unlock(note.id), told)
        if note.goal in self.links.of:
            self.links.remove(note.goal, "the swap was undone")
        yield from self._end(swap, why)
        yield Replayed(note.goal)
        yield Resumed(note.middle)

    def _end(self, swap: Swapping, why: str) -> Iterator[OverlayEvent]:
        self._see(swap, "", "undone")
        self._tear(swap)  # nothing waits for causes any more: they may be lost
        swap.triangle.over = True
        self.history.end(change_name(swap.note.id), why)
        self._set_current(None)
        if swap.wish is not None:
            self._answer(swap.wish, why)
        yield from swap.triangle.release()

    # --- the middle

    def _hand_without(self, swap: Swapping, lost: list[str]) -> Iterator[OverlayEvent]:
        if swap.note.stage is Stage.LOCKED:
            if len(lost) > 1:  # if one is there, it gives up by itself, or goes on
                self._send(swap.mover, LockNack(swap.note.id, f"{lost[0]} did not come back in time", retry=True))
                self._send(swap.note.goal, Unlock(swap.note.id))
                self._set_current(None)
        elif swap.mover in lost:
            yield from self._on_close_ab(swap, swap.mover, self._held_by_turn())
            yield from self._drain(swap)
        elif not swap.complained:
            swap.complained = True
            self._send(swap.mover, LockNack(swap.note.id, f"{swap.note.goal} did not come back in time", retry=False))

    def _on_nack(self, swap: Swapping, nack: LockNack) -> Iterator[OverlayEvent]:
        if swap.note.part is Part.MOVER and swap.note.stage is Stage.FLOOD:
            yield from self._undo(swap, nack.reason)
        else:
            yield from super()._on_nack(swap, nack)

    def _on_unlock(self, swap: Swapping) -> Iterator[OverlayEvent]:
        note = swap.note
        if note.part is Part.MIDDLE and note.stage is Stage.FLOOD and not swap.triangle.handed:
            swap.triangle.flush()
            self._send(note.goal, Unlock(note.id))
            yield from self._end(swap, "undone by the mover")
            yield Resumed(swap.mover)
            yield Resumed(note.goal)
        else:
            yield from super()._on_unlock(swap)

    # --- the goal

    def _on_open(self, swap: Swapping, peer: str, told: bool) -> Iterator[OverlayEvent]:
        opened = swap.note.opened
        yield from super()._on_open(swap, peer, told)
        if swap.owes and swap.note.opened and not opened:
            yield from self.share(swap.note.middle)
        if told and swap.sides is not None and swap.note.opened and not opened:
            # The middle goes by the new tree: what it takes back now must not be what is wanted behind the mover, who
            # has yet to tell.
            yield Split(swap.note.middle, swap.mover, swap.sides[1], swap.sides[0])

    def _take_without(self, swap: Swapping, lost: list[str]) -> Iterator[OverlayEvent]:
        note = swap.note
        if not note.opened:
            if swap.mover in lost:
                yield from self._drop_mover(swap)
            return
        swap.alone = True
        if note.middle in lost and not note.closed_ab:
            self._note(swap, closed_ab=True, unheard=True)
            swap.triangle.closed_ab = True
        if swap.mover in lost and swap.note.closed_ab:
            self._note(swap, closed_ba=True)
            swap.triangle.closed_ba = True
            if not swap.triangle.split:
                swap.triangle.split = True
                yield Tell(note.middle)
        yield from self._tell_middle(swap)
        yield from self._drain(swap)

    def _drop_mover(self, swap: Swapping) -> Iterator[OverlayEvent]:
        swap.triangle.flush()
        if swap.mover in self.links.of:  # it may have moved, and hold us for its neighbour
            self.links.give_up(swap.mover, "the swap was undone")
        yield from self._end(swap, f"{swap.mover} did not come back in time")
        yield Replayed(swap.mover)
        yield Resumed(swap.note.middle)
