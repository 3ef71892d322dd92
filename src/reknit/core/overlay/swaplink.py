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
tells its new neighbour all. The replaced link is closed only when it is empty in both directions.

Owns: the swap that this broker takes part in, at most one. Must not know: routing, which is told through events.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf

from reknit.core.io import Reply
from reknit.core.links.custody import Custody
from reknit.core.links.links import Answered, Links, Stranger, TurnedAway
from reknit.core.overlay.events import (
    Merged,
    OverlayEvent,
    Paused,
    Renamed,
    Resumed,
    SidesWanted,
    Split,
    Tell,
)
from reknit.core.overlay.notes import Closing, Notes, Part, Stage, SwapNote, read_notes, write_notes
from reknit.core.overlay.options import OverlayOptions
from reknit.core.overlay.triangle import Triangle
from reknit.core.turn import Turn
from reknit.trace.records import Kind
from reknit.wire.messages import (
    Ask,
    Close,
    Entry,
    Events,
    Lock,
    LockAck,
    LockNack,
    Message,
    Open,
    Refuse,
    Seated,
    Side,
    Steered,
    Swap,
    SwapId,
    Unlock,
)

__all__ = ["STEPS", "Step", "SwapLinks"]

Step = Lock | LockAck | LockNack | Unlock | Side | Swap | Open | Close | Seated | Ask
STEPS = (Lock, LockAck, LockNack, Unlock, Side, Swap, Open, Close, Seated, Ask)

ID_FLOOR = 1 << 48
"""Numbers of swaps are above it, those of join waves below: a caller's greeting shows which it comes for."""

SIDE_PATTERNS_MAX = 64
"""Patterns in one message of a table that travels."""


@dataclass(slots=True)
class _Wish:
    """An operator's swap of a link of ours."""

    middle: str
    goal: str
    request: int
    begun: float
    try_at: float
    tries: int = 0
    last: str = ""


@dataclass(slots=True)
class _Swap:
    """One swap, as one of the three sees it."""

    note: SwapNote
    triangle: Triangle
    give_up_at: float
    wish: _Wish | None = None
    ask_at: float | None = None  # at the goal: when to dial the mover (again)
    begun: float = 0.0
    torn: bool = False
    sides: tuple[list[Entry], list[Entry]] | None = None  # what the mover's side and the middle's want
    parts: tuple[list[Entry], list[Entry]] = field(default_factory=lambda: ([], []))  # of them, as they come
    told_middle: bool = False

    @property
    def mover(self) -> str:
        return self.note.id[0]


class SwapLinks:
    def __init__(
        self,
        turn: Turn,
        links: Links,
        options: OverlayOptions,
        rng: random.Random,
        neighbours: Callable[[], list[str]],
        busy: Callable[[], str],
        close_link: Callable[[str], None],
    ) -> None:
        """``neighbours``: those of the tree. ``busy``: what else locks us. ``close_link``: once it is empty."""
        self.turn = turn
        self.links = links
        self.options = options
        self.rng = rng
        self.neighbours = neighbours
        self.busy = busy
        self.close_link = close_link
        self.ready = True  # this broker knows its neighbours' tables
        self.current: _Swap | None = None
        self.closing: dict[str, Closing] = {}
        self.wishes: list[_Wish] = []
        self.done = 0
        self._early: list[tuple[str, Step, Custody]] = []  # steps that wait until it is ready
        self._unseated: dict[str, SwapId] = {}  # goals whose tables do not count before they are seated
        self._stalled: dict[str, list[tuple[Message, Custody]]] = {}  # at the goal: what waits, by sender

    # --- looking in

    @property
    def locked(self) -> str:
        """Why this broker takes part in no other change now, for people to read; empty if it does."""
        if self.current is None:
            return ""
        note = self.current.note
        return f"{self.turn.node} takes part in the swap of {note.id[0]} from {note.middle} to {note.goal}"

    def involves(self, peer: str) -> bool:
        return self.current is not None and peer in self.current.triangle.members

    def hidden(self) -> tuple[str, ...]:
        """Linked, but no neighbours in the tree: not yet, or not any more."""
        if self.current is None:
            return ()
        note = self.current.note
        if note.part is Part.MOVER and note.stage is not Stage.LOCKED:
            return (note.middle,) if note.stage is Stage.MOVED else (note.goal,)
        if note.part is Part.GOAL and note.stage is Stage.FLOOD and not note.opened:
            return (note.id[0],)
        return ()

    def keepers(self) -> tuple[str, ...]:
        """For a life that begins: who is no neighbour in the tree, but may have kept events for the life before."""
        flooding = self.current is not None and self.current.triangle.flooding
        return (*(self.hidden() if flooding else ()), *self.closing)

    def ignores(self, peer: str) -> bool:
        """Is what this neighbour wants said by the old tree, while this broker goes by the new one?"""
        swap = self.current
        if swap is None or swap.note.part is not Part.GOAL or peer != swap.note.middle:
            return False
        return swap.note.opened and not swap.note.closed_ab

    def counts(self, peer: str) -> bool:
        """Does it tell what it wants by the new tree?"""
        return peer not in self._unseated

    def defers(self, peer: str) -> bool:
        """Does this broker not know yet what to tell it? It will."""
        swap = self.current
        return (
            swap is not None
            and swap.note.part is Part.GOAL
            and swap.note.opened
            and not swap.triangle.split
            and peer in swap.triangle.members
        )

    # --- notes

    def notes(self) -> str:
        return write_notes(Notes(self.current.note if self.current else None, self.closing))

    def recall(self, text: str) -> None:
        """Take up what the life before has left; ``take_up`` then goes on with it."""
        notes = read_notes(text)
        self.closing = dict(notes.closing)
        if notes.swap is not None:
            self.current = self._from_note(notes.swap)

    def _from_note(self, note: SwapNote) -> _Swap:
        swap = self._begin(note)
        triangle = swap.triangle
        triangle.flooding = note.stage in (Stage.FLOOD, Stage.MOVED)
        triangle.moved = note.stage is Stage.MOVED
        triangle.opened, triangle.closed_ab, triangle.closed_ba = note.opened, note.closed_ab, note.closed_ba
        triangle.crossed = triangle.split = note.opened
        self._tear(swap)
        return swap

    def found(self, peer: str) -> None:
        """A link of the life before is there again."""
        if self.current is not None and self.current.note.stage is Stage.OPEN and peer == self.current.note.goal:
            link = self.links.of[peer]
            link.tentative, link.dial_at = True, None

    def take_up(self) -> None:
        """Say again what the life before may have said in vain."""
        for peer, closing in self.closing.items():
            if closing.part is Part.MOVER:
                self._send(closing.goal, Open(closing.id, True))
            else:
                self._unseated[closing.goal] = closing.id
                self._send(closing.goal, Close(closing.id, True, True))
                self._send(peer, Close(closing.id, False, True))
        swap = self.current
        if swap is None:
            return
        note = swap.note
        swap.give_up_at = self.turn.now + self.options.lease_s
        match note.part, note.stage:
            case Part.MOVER, Stage.LOCKED:
                self._send(note.middle, Unlock(note.id))
                self._set_current(None)
            case Part.MOVER, Stage.FLOOD:
                self._send(note.middle, Swap(note.id, True))
            case Part.MOVER, Stage.MOVED:
                self._send(note.goal, Open(note.id, True))
                self._send(note.middle, Close(note.id, True, True))
            case Part.GOAL, Stage.LOCKED:
                swap.ask_at = self.turn.now
            case Part.GOAL, Stage.FLOOD if not note.opened:
                self._send(note.middle, LockAck(note.id, True))
            case _:
                pass  # the middle waits for what the others say again

    def _begin(self, note: SwapNote) -> _Swap:
        members = (note.id[0], note.middle, note.goal)
        triangle = Triangle(self.turn, self.links, note.id[1], note.part, members, self.options.causal)
        return _Swap(note, triangle, self.turn.now + self.options.lease_s, begun=self.turn.now)

    def _set_current(self, swap: _Swap | None) -> None:
        self.current = swap
        self.links.changed = True

    def _note(self, swap: _Swap, **changes: object) -> None:
        fields = {name: getattr(swap.note, name) for name in SwapNote.__struct_fields__}
        swap.note = SwapNote(**(fields | changes))
        self.links.changed = True

    def _tear(self, swap: _Swap) -> None:
        swap.torn = swap.triangle.torn = True
        swap.sides = None if swap.note.part is Part.MIDDLE else swap.sides

    def _see(self, swap: _Swap, peer: str, what: str) -> None:
        self.turn.see(Kind.CHANGE, peer=peer, detail=f"swap: {what} at the {swap.note.part.value}")

    # --- an operator's wish

    def want(self, middle: str, goal: str, request: int) -> Iterator[OverlayEvent]:
        error = self._objection(middle, goal)
        if error:
            self.turn.effects.append(Reply(request, error))
            return
        wish = _Wish(middle, goal, request, self.turn.now, self.turn.now)
        self.wishes.append(wish)
        yield from self._try(wish)

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

    def _try(self, wish: _Wish) -> Iterator[OverlayEvent]:
        why = self._engaged() or self._not_empty(wish.goal)
        if why:
            self._later(wish, why)
            return
        error = self._objection(wish.middle, wish.goal)
        if error:
            self._answer(wish, error)
            return
        wish.tries += 1
        swap_id = (self.turn.node, ID_FLOOR | self.rng.getrandbits(47))
        note = SwapNote(swap_id, wish.middle, wish.goal, self.links.address, Part.MOVER, Stage.LOCKED)
        swap = self._begin(note)
        swap.wish = wish
        swap.give_up_at = self.turn.now + self.options.lease_s / 2
        self._set_current(swap)
        self._see(swap, wish.middle, "start")
        yield Paused(wish.middle)
        self._send(wish.middle, Lock(swap_id, wish.middle, wish.goal, self.links.address))

    def _engaged(self) -> str:
        unready = "" if self.ready else f"{self.turn.node} does not know yet what its neighbours want"
        return self.locked or self.busy() or unready

    def _not_empty(self, peer: str) -> str:
        return f"the former link of {self.turn.node} and {peer} is not empty yet" if peer in self.links.of else ""

    def _later(self, wish: _Wish, why: str) -> None:
        wish.last = why
        if self.turn.now - wish.begun > self.options.join_s_max:
            self._answer(wish, f"given up after {self.options.join_s_max:g} s: {why}")
        else:
            longest = min(self.options.backoff_s_max, self.options.backoff_s_min * 2 ** min(wish.tries + 1, 16))
            wish.try_at = self.turn.now + self.rng.uniform(self.options.backoff_s_min, longest)

    def _answer(self, wish: _Wish, error: str) -> None:
        self.wishes.remove(wish)
        self.turn.effects.append(Reply(wish.request, error))

    # --- the goal hears of each way's end before what follows it, though they come on different links

    def stalls(self, peer: str, message: Message, custody: Custody) -> bool:
        """Keep ``message`` for later? 10 waits for 8, and 12 for 10, and all that comes behind them with them."""
        if peer not in self._stalled and not self._must_stall(peer, message):
            return False
        custody.pending += 1
        self._stalled.setdefault(peer, []).append((message, custody))
        return True

    def _must_stall(self, peer: str, message: Message) -> bool:
        swap = self.current
        if swap is None or swap.note.part is not Part.GOAL or not isinstance(message, Close):
            return False
        return message.id == swap.note.id and not (
            swap.note.opened if peer == swap.note.middle else swap.note.closed_ab
        )

    def unstalled(self) -> list[tuple[str, Message, Custody]]:
        """What need wait no longer."""
        swap = self.current
        for peer in list(self._stalled):
            if swap is None or not self._must_stall(peer, self._stalled[peer][0][0]):
                freed = self._stalled.pop(peer)
                self.turn.custodies.extend(custody for _, custody in freed)
                return [(peer, message, custody) for message, custody in freed]
        return []

    # --- steps

    def on_step(self, peer: str, step: Step, custody: Custody) -> Iterator[OverlayEvent]:
        swap = self.current
        if isinstance(step, Lock):
            self._on_lock(peer, step)
        elif isinstance(step, Seated):
            self._on_seated(peer, step)
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

    def _waits_for_tables(self, swap: _Swap, step: Step) -> bool:
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

    def _on_own(self, swap: _Swap, peer: str, step: Step, custody: Custody) -> Iterator[OverlayEvent]:
        match step:
            case LockNack():
                yield from self._on_nack(swap, step)
            case Unlock():
                yield from self._on_unlock(swap)
            case LockAck():
                yield from self._on_lock_ack(swap, peer, custody)
            case Side(mover=mover, entries=entries):
                swap.parts[0 if mover else 1].extend(entries)
            case Swap():
                yield from self._on_swap(swap, peer, step, custody)
            case Open():
                yield from self._on_open(swap, peer)
            case Close(from_mover=True):
                yield from self._on_close_ab(swap, peer, custody)
            case Close():
                yield from self._on_close_ba(swap, peer, custody)
            case _:
                pass

    def _on_stale(self, peer: str, step: Step, custody: Custody) -> Iterator[OverlayEvent]:
        """Of a swap that is over here. What had to be passed on is passed on again: the one before may be lost."""
        if isinstance(step, Ask) and step.id[0] == self.turn.node:
            self._send(peer, Unlock(step.id))
        elif isinstance(step, Ask):
            self._send(peer, LockNack(step.id, f"{self.turn.node} has forgotten the swap", retry=True))
        elif isinstance(step, LockAck) and step.id not in [closing.id for closing in self.closing.values()]:
            self._send(peer, Unlock(step.id))  # we have given it up, and the mover too; the goal came too late
        elif isinstance(step, Close):
            yield from self._on_stale_close(peer, step, custody)

    def _on_stale_close(self, peer: str, step: Close, custody: Custody) -> Iterator[OverlayEvent]:
        closing = self.closing.get(peer)
        if closing is not None and closing.id == step.id:
            self._send(closing.goal, Close(step.id, step.from_mover, True), custody)
            if step.from_mover:
                self._send(peer, Close(step.id, False, True), custody)
        elif step.from_mover and peer in self.neighbours():
            self._send(peer, Seated(step.id))
            yield Tell(peer)

    def _on_seated(self, peer: str, step: Seated) -> None:
        if self._unseated.get(peer) == step.id:
            del self._unseated[peer]

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
            swap = self._begin(SwapNote(lock.id, lock.middle, lock.goal, lock.address, part, Stage.LOCKED))
            self._set_current(swap)
            self._see(swap, peer, "lock")
            if part is Part.MIDDLE:
                self._send(lock.goal, lock)
            else:
                swap.ask_at = self.turn.now
                self._ask(swap)

    def _on_nack(self, swap: _Swap, nack: LockNack) -> Iterator[OverlayEvent]:
        self._see(swap, swap.note.goal, "lockNack")
        if swap.note.part is Part.MIDDLE and swap.note.stage is Stage.LOCKED:
            self._send(swap.mover, nack)
            self._set_current(None)
        elif swap.note.part is Part.MOVER and swap.note.stage in (Stage.LOCKED, Stage.OPEN):
            yield from self._give_up(swap, nack.reason, nack.retry)

    def _on_unlock(self, swap: _Swap) -> Iterator[OverlayEvent]:
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
            self.links.remove(swap.mover, "the swap was given up")
            self._set_current(None)
            yield Resumed(note.middle)
            yield from swap.triangle.release()

    def _give_up(self, swap: _Swap, why: str, retry: bool) -> Iterator[OverlayEvent]:
        """At the mover, before anything has changed."""
        if swap.note.stage is Stage.OPEN:
            self.links.remove(swap.note.goal, "the swap was given up")
        self._set_current(None)
        if swap.wish is not None and retry:
            self._later(swap.wish, why)
        elif swap.wish is not None:
            self._answer(swap.wish, why)
        yield Resumed(swap.note.middle)
        yield from swap.triangle.release()

    # --- between 2 and 3: the new link

    def _ask(self, swap: _Swap) -> None:
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
        self.links.add(hello.name, "", quiet=True).tentative = True
        self.links.accept(stranger.conn, hello)

    def asks(self, peer: str) -> bool:
        """Is this the goal of a swap, and waits for ``peer`` to answer?"""
        swap = self.current
        return (
            swap is not None and swap.note.part is Part.GOAL and swap.note.stage is Stage.LOCKED and peer == swap.mover
        )

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
        self._send(swap.note.middle, LockAck(swap.note.id, swap.torn))
        swap.triangle.flooding = True

    def on_turned_away(self, event: TurnedAway) -> None:
        swap = self.current
        assert swap is not None
        if event.refusal.retry:
            swap.ask_at = self.turn.now + self.rng.uniform(self.options.backoff_s_min, self.options.backoff_s_max)
        else:
            self._refuse_as_goal(swap, event.refusal.reason)

    def _refuse_as_goal(self, swap: _Swap, why: str) -> None:
        self.links.stop_asking(swap.mover)
        self._send(swap.note.middle, LockNack(swap.note.id, why, retry=True))
        self._set_current(None)

    # --- 3 to 7

    def _on_lock_ack(self, swap: _Swap, peer: str, custody: Custody) -> Iterator[OverlayEvent]:
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
        elif note.part is Part.MOVER and peer == note.middle and note.stage is Stage.OPEN:
            self._note(swap, stage=Stage.FLOOD)
            self.links.of[note.goal].tentative = False
            self._send(note.middle, Swap(note.id, swap.torn))
            swap.triangle.flooding = True

    def take_sides(self, mover: list[Entry], middle: list[Entry]) -> None:
        if self.current is not None and not self.current.torn:
            self.current.sides = (mover, middle)

    def _on_swap(self, swap: _Swap, peer: str, step: Swap, custody: Custody) -> Iterator[OverlayEvent]:
        note = swap.note
        self._see(swap, peer, "swap")
        if note.part is Part.MIDDLE and peer == swap.mover:
            if swap.sides is not None:
                self._send_sides(swap, swap.sides)
            self._send(note.goal, Swap(note.id, swap.sides is None), custody)
        elif note.part is Part.GOAL and peer == note.middle:
            if not step.torn:
                swap.sides = swap.parts
            swap.parts = ([], [])
            swap.triangle.crossed = True
            self._send(swap.mover, Swap(note.id, swap.sides is None), custody)
        elif note.part is Part.MOVER and peer == note.goal and note.stage is Stage.FLOOD:
            yield from self._move(swap)

    def _send_sides(self, swap: _Swap, sides: tuple[list[Entry], list[Entry]]) -> None:
        for entries, mover in zip(sides, (True, False), strict=True):
            for origin, patterns in entries:
                for start in range(0, len(patterns), SIDE_PATTERNS_MAX) if patterns else (0,):
                    part: list[Entry] = [(origin, patterns[start : start + SIDE_PATTERNS_MAX])]
                    self._send(swap.note.goal, Side(swap.note.id, mover, part))

    def _move(self, swap: _Swap) -> Iterator[OverlayEvent]:
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

    def _on_open(self, swap: _Swap, peer: str) -> Iterator[OverlayEvent]:
        note = swap.note
        if note.part is not Part.GOAL or peer != swap.mover or note.opened:
            return
        self._see(swap, peer, "open")
        swap.triangle.flush()
        self._note(swap, opened=True)
        swap.triangle.opened = swap.triangle.crossed = True
        self.turn.tell(Kind.LINK_TAKEN, peer=swap.mover, detail=note.middle)
        if swap.sides is not None:
            swap.triangle.split = True
            yield Split(note.middle, swap.mover, swap.sides[1], swap.sides[0])
            yield Tell(swap.mover) if swap.torn else Resumed(swap.mover)

    def _tell_middle(self, swap: _Swap) -> Iterator[OverlayEvent]:
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

    def _on_close_ab(self, swap: _Swap, peer: str, custody: Custody) -> Iterator[OverlayEvent]:
        note = swap.note
        self._see(swap, peer, "close(ab)")
        if note.part is Part.MIDDLE and peer == swap.mover and not swap.triangle.handed:
            swap.triangle.flush()
            self.turn.tell(Kind.LINK_HANDED, peer=swap.mover, detail=note.goal)
            self._send(note.goal, Close(note.id, True, swap.torn), custody)
            self._send(swap.mover, Close(note.id, False, swap.torn), custody)
            swap.triangle.handed = swap.triangle.over = True
            self._close(swap.mover, swap)
            if swap.torn:
                self._unseated[note.goal] = note.id
            yield Merged(swap.mover, note.goal, None if swap.sides is None else swap.sides[1])
        elif note.part is Part.GOAL and peer == note.middle:
            swap.triangle.flush()
            self._note(swap, closed_ab=True)
            swap.triangle.closed_ab = True
            swap.told_middle = False  # if this comes again, so has the middle, without memory
            yield from self._tell_middle(swap)

    def _on_close_ba(self, swap: _Swap, peer: str, custody: Custody) -> Iterator[OverlayEvent]:
        note = swap.note
        self._see(swap, peer, "close(ba)")
        if note.part is Part.MOVER and peer == note.middle and note.stage is Stage.MOVED and not swap.triangle.over:
            swap.triangle.flush()
            self._send(note.goal, Close(note.id, False, swap.torn), custody)
            swap.triangle.over = True
            self._close(note.middle, swap)
        elif note.part is Part.GOAL and peer == swap.mover and not note.closed_ba:
            swap.triangle.flush()
            self._note(swap, closed_ba=True)
            swap.triangle.closed_ba = True
        yield from ()

    def _close(self, peer: str, swap: _Swap) -> None:
        """The link that is replaced stays until it is empty, for this life and the next."""
        address = self.links.of[peer].address
        self.closing[peer] = Closing(swap.note.id, swap.note.goal, address, swap.note.part)
        self.links.changed = True
        self.close_link(peer)

    def closed(self, peer: str) -> None:
        if self.closing.pop(peer, None) is not None:
            self.links.changed = True

    # --- events

    def take(self, peer: str, message: Events | Steered, custody: Custody) -> Iterator[OverlayEvent]:
        swap = self.current
        assert swap is not None
        swap.triangle.take(peer, message, custody)
        yield from self._drain(swap)

    def _drain(self, swap: _Swap) -> Iterator[OverlayEvent]:
        yield from swap.triangle.release()
        note, triangle = swap.note, swap.triangle
        over = triangle.over or (note.opened and note.closed_ab and note.closed_ba and triangle.split)
        if over and triangle.empty and self.current is swap:
            triangle.flush()
            self._see(swap, "", "end")
            self.done += 1
            self._set_current(None)
            if swap.wish is not None:
                self._answer(swap.wish, "")

    # --- what happens to neighbours

    def renewed(self, peer: str) -> None:
        """One of the others has lost its memory, unless it is a goal that dials again before it has the link."""
        swap = self.current
        if swap is not None and self.involves(peer) and (swap.note.stage is not Stage.OPEN or peer != swap.note.goal):
            self._tear(swap)

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
        return min((at for at in times if at < inf), default=None)

    def _causes_until(self, swap: _Swap) -> float:
        since = swap.triangle.waiting_since
        return inf if since is None or swap.torn else since + self.options.cause_s_max

    def due(self) -> Iterator[OverlayEvent]:
        now, swap = self.turn.now, self.current
        if swap is not None and swap.ask_at is not None and now >= swap.ask_at:
            self._ask(swap)
        if swap is not None and swap.note.stage is Stage.LOCKED and now >= swap.give_up_at:
            yield from self._lease_over(swap)
        if swap is not None and now >= self._causes_until(swap):
            self._tear(swap)
            yield from self._drain(swap)
        for wish in list(self.wishes):
            if now >= wish.try_at and (self.current is None or self.current.wish is not wish):
                yield from self._try(wish)

    def _lease_over(self, swap: _Swap) -> Iterator[OverlayEvent]:
        if swap.note.part is Part.MOVER:
            self._send(swap.note.middle, Unlock(swap.note.id))
            yield from self._give_up(swap, f"{swap.note.middle} or {swap.note.goal} did not answer in time", retry=True)
        elif swap.note.part is Part.GOAL:
            self._refuse_as_goal(swap, f"{swap.note.goal} could not reach {swap.mover} in time")
        else:  # one of the others may have forgotten: the middle, which knows both, asks again
            swap.give_up_at = self.turn.now + self.options.lease_s
            self._send(swap.mover, Ask(swap.note.id))
            self._send(swap.note.goal, Ask(swap.note.id))

    def flush(self) -> None:
        if self.current is not None:
            self.current.triangle.flush()

    def _send(self, peer: str, message: Message, custody: Custody | None = None) -> None:
        if self.current is not None:
            self.current.triangle.flush()  # a step never overtakes events
        if (link := self.links.of.get(peer)) is not None:
            link.send(message, custody)
