"""How a swap begins: wishes, locks, and the new link (messages 1 and 2 of ``swaplink``).

Up to here nothing has changed, and whoever waits for too long gives up: the mover as long as it has not accepted the
new link, the goal as long as it has not got it. The middle, which knows both others, asks them now and then.

Owns: wishes, leases, refusals. Must not know: what happens once the new link is there.
"""

from __future__ import annotations

from collections.abc import Iterator

from reknit.core.io import Reply
from reknit.core.links.links import Stranger, TurnedAway
from reknit.core.overlay.events import OverlayEvent, Replayed, Resumed, Tell
from reknit.core.overlay.history import change_name
from reknit.core.overlay.notes import Part, Stage, SwapNote
from reknit.core.overlay.swap import ID_FLOOR
from reknit.core.overlay.swapstate import Swapping, SwapState, Wish
from reknit.wire.messages import Ask, Lock, LockNack, Refuse, Unlock

__all__ = ["SwapLocks"]


class SwapLocks(SwapState):
    # --- an operator's wish

    def want(self, middle: str, goal: str, request: int, of: str) -> None:
        error = self._objection(middle, goal)
        if error:
            self.turn.effects.append(Reply(request, error))
            return
        wish = Wish(middle, goal, request, self.turn.now, self.turn.now, of=of)
        self.wishes.append(wish)
        self._try(wish)

    def _objection(self, middle: str, goal: str) -> str:
        me, neighbours = self.turn.node, self.neighbours()
        if len({me, middle, goal}) < 3:
            return "a swap needs three different brokers"
        if goal in neighbours:
            return f"{me} and {goal} are linked already"
        if middle not in neighbours:
            names = ", ".join(sorted(neighbours)) or "nobody"
            return f"{me} has no link to {middle}; it is linked with {names}"
        if not self.links.address:
            return f"{me} has no address at which {goal} could reach it"
        return ""

    def _try(self, wish: Wish) -> None:
        why = self._engaged() or self._not_empty(wish.goal)
        if why:
            self._later(wish, why)
            return
        error = self._objection(wish.middle, wish.goal)
        if error:
            self._answer(wish, error)
            return
        swap_id = (self.turn.node, ID_FLOOR | self.rng.getrandbits(47))
        note = SwapNote(swap_id, wish.middle, wish.goal, self.links.address, Part.MOVER, Stage.LOCKED, of=wish.of)
        swap = self._begin(note)
        swap.wish = wish
        swap.give_up_at = self.turn.now + self.options.lease_s / 2
        self._set_current(swap)
        self._see(swap, wish.middle, "start")
        self._send(wish.middle, Lock(swap_id, wish.middle, wish.goal, self.links.address, wish.of))

    def _engaged(self) -> str:
        unready = "" if self.ready else f"{self.turn.node} does not know yet what its neighbours want"
        return self.locked or self.busy() or unready or self.emptying

    def _not_empty(self, peer: str) -> str:
        return f"the former link of {self.turn.node} and {peer} is not empty yet" if peer in self.links.of else ""

    @property
    def emptying(self) -> str:
        """Why this broker keeps its links for now, for people to read: a swap has replaced one, which is not empty yet.

        What that one carried may come again by way of the goal of the swap, or be asked for there. Who gets what from
        whom then, each of the three knows as long as both others are next to the goal, and no longer.
        """
        why = next((self._not_empty(peer) for peer in self.closing), "")
        return f"{why}, which takes {self.options.close_s_max:g} s at most; try again then" if why else ""

    def _later(self, wish: Wish, why: str) -> None:
        wish.last = why
        if self.turn.now - wish.begun > self.options.join_s_max:
            self._answer(wish, f"given up after {self.options.join_s_max:g} s: {why}")
        else:
            wish.waits += 1
            longest = min(self.options.backoff_s_max, self.options.backoff_s_min * 2 ** min(wish.waits + 1, 16))
            wish.try_at = self.turn.now + self.rng.uniform(self.options.backoff_s_min, longest)

    def _answer(self, wish: Wish, error: str) -> None:
        self.wishes.remove(wish)
        self.history.end(wish.change, error)
        self.turn.effects.append(Reply(wish.request, error, wish.change))

    # --- 1 and 2: locks

    def _on_lock(self, peer: str, lock: Lock) -> None:
        if self.current is not None and self.current.note.id == lock.id:
            return  # said again
        part = Part.MIDDLE if lock.middle == self.turn.node else Part.GOAL
        others = (lock.id[0], lock.goal) if part is Part.MIDDLE else (lock.middle,)
        missing = [name for name in others if name not in self.neighbours()]
        if missing or peer != others[0]:
            why = f"{(missing or others)[0]} is no neighbour of {self.turn.node}; it is linked with "
            why += ", ".join(sorted(self.neighbours())) or "nobody"
            self._send(peer, LockNack(lock.id, why, retry=False))
        elif why := self._engaged() or (self._not_empty(lock.id[0]) if part is Part.GOAL else ""):
            self._send(peer, LockNack(lock.id, why, retry=True))
        else:
            swap = self._begin(SwapNote(lock.id, lock.middle, lock.goal, lock.address, part, Stage.LOCKED, of=lock.of))
            self._set_current(swap)
            self._see(swap, peer, "lock")
            if part is Part.MIDDLE:
                self._send(lock.goal, lock)
            else:
                swap.ask_at = self.turn.now
                self._ask(swap)

    def _on_nack(self, swap: Swapping, nack: LockNack) -> Iterator[OverlayEvent]:
        self._see(swap, swap.note.goal, "lockNack")
        if swap.note.part is Part.MIDDLE and swap.note.stage is Stage.LOCKED:
            self._send(swap.mover, nack)
            self._set_current(None)
        elif swap.note.part is Part.MOVER and swap.note.stage in (Stage.LOCKED, Stage.OPEN):
            yield from self._give_up(swap, nack.reason, nack.retry)

    def _on_unlock(self, swap: Swapping) -> Iterator[OverlayEvent]:
        self._see(swap, swap.mover, "unlock")
        note = swap.note
        if note.part is Part.MIDDLE and note.stage is Stage.LOCKED:
            self._send(note.goal, Unlock(note.id))
            self._set_current(None)
        elif note.part is Part.GOAL and note.stage is Stage.LOCKED:
            self.links.stop_asking(swap.mover)
            self._set_current(None)
        elif note.part is Part.GOAL and not note.opened:
            # It got the link when the others had given up. What it gave to the middle went on from there as usual.
            swap.triangle.flush()
            self._tear(swap)  # nothing waits for causes any more
            self.links.remove(swap.mover, "the swap was given up")
            self._set_current(None)
            yield Replayed(swap.mover)
            yield Resumed(note.middle)
            yield from swap.triangle.release()

    def _give_up(self, swap: Swapping, why: str, retry: bool) -> Iterator[OverlayEvent]:
        """At the mover, before anything has changed."""
        if swap.note.stage is Stage.OPEN:
            self.links.remove(swap.note.goal, "the swap was given up")
        if swap.wish is None:
            self.history.end(change_name(swap.note.id), why)
        else:
            self.history.waits(swap.wish.change, why)
        self._set_current(None)
        if swap.wish is not None and retry:
            self._later(swap.wish, why)
        elif swap.wish is not None:
            self._answer(swap.wish, why)
        yield from swap.triangle.release()

    def unlinked(self, peer: str) -> Iterator[OverlayEvent]:
        """A neighbour has gone. A swap that has changed nothing is given up; later on nobody of the three leaves."""
        swap = self.current
        if swap is None or peer not in swap.triangle.members or swap.note.stage not in (Stage.LOCKED, Stage.OPEN):
            return
        why = f"{peer} has left {self.turn.node}"
        match swap.note.part:
            case Part.MOVER:
                yield from self._give_up(swap, why, retry=False)
            case Part.MIDDLE:
                self._send(swap.mover, LockNack(swap.note.id, why, retry=False))
                self._send(swap.note.goal, Unlock(swap.note.id))
                self._set_current(None)
            case Part.GOAL:
                self.links.stop_asking(swap.mover)
                self._set_current(None)

    def _tell_anew(self, peer: str) -> Iterator[OverlayEvent]:
        """All that we want, because of an older swap; if it is in one with us, what that brings is not all."""
        if self.current is not None and self.involves(peer):
            self._tear(self.current)
        yield Tell(peer)

    # --- the new link

    def _ask(self, swap: Swapping) -> None:
        self.links.stop_asking(swap.mover)
        self.links.ask(swap.mover, swap.note.address, swap.note.id)
        swap.ask_at = self.turn.now + self.links.options.greeting_s_max

    def expects(self, stranger: Stranger) -> bool:
        return stranger.hello.wave is not None and stranger.hello.wave[1] >= ID_FLOOR

    def on_stranger(self, stranger: Stranger) -> None:
        """The goal of a swap dials its mover."""
        swap, hello = self.current, stranger.hello
        mine = swap is not None and swap.note.id == hello.wave and swap.note.goal == hello.name
        if not mine or swap is None or swap.note.stage is not Stage.LOCKED:
            refusal = Refuse(f"{self.turn.node} is not in that swap any more", retry=False, stranger=False)
            self.links.refuse(stranger.conn, refusal)
            return
        self._see(swap, hello.name, "connect")
        self._note(swap, stage=Stage.OPEN)
        self.links.add(hello.name, "", quiet=True).awaited = True
        self.links.accept(stranger.conn, hello)

    def asks(self, peer: str) -> bool:
        """Is this the goal of a swap, and waits for ``peer`` to answer?"""
        swap = self.current
        return (
            swap is not None and swap.note.part is Part.GOAL and swap.note.stage is Stage.LOCKED and peer == swap.mover
        )

    def on_turned_away(self, event: TurnedAway) -> None:
        swap = self.current
        assert swap is not None
        if event.refusal.retry:
            swap.ask_at = self.turn.now + self.rng.uniform(self.options.backoff_s_min, self.options.backoff_s_max)
        else:
            self._refuse_as_goal(swap, event.refusal.reason)

    def _refuse_as_goal(self, swap: Swapping, why: str) -> None:
        self.links.stop_asking(swap.mover)
        self._send(swap.note.middle, LockNack(swap.note.id, why, retry=True))
        self._set_current(None)

    # --- leases

    def _lease_over(self, swap: Swapping) -> Iterator[OverlayEvent]:
        if swap.note.part is Part.MOVER:
            self._send(swap.note.middle, Unlock(swap.note.id))
            yield from self._give_up(swap, f"{swap.note.middle} or {swap.note.goal} did not answer in time", retry=True)
        elif swap.note.part is Part.GOAL:
            self._refuse_as_goal(swap, f"{swap.note.goal} could not reach {swap.mover} in time")
        else:  # one of the others may have forgotten: the middle, which knows both, asks again
            swap.give_up_at = self.turn.now + self.options.lease_s
            self._send(swap.mover, Ask(swap.note.id, False))
            self._send(swap.note.goal, Ask(swap.note.id, False))
