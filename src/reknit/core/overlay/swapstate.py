"""One swap as one of its three brokers sees it, and what of it is kept for the next life.

Owns: the swap that this broker takes part in, at most one; its notes; the links that swaps have replaced. Must not
know: in which order things are said (``swaplocks``, ``swaplink``).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from reknit.core.links.custody import Custody
from reknit.core.links.links import Links
from reknit.core.overlay.events import OverlayEvent, SidesWanted
from reknit.core.overlay.history import SWAP, Deed, History, change_name, waits_for
from reknit.core.overlay.notes import Closing, Ended, Notes, Part, Stage, SwapNote, read_notes, write_notes
from reknit.core.overlay.options import OverlayOptions
from reknit.core.overlay.swap import side_messages
from reknit.core.overlay.triangle import Triangle
from reknit.core.turn import Turn
from reknit.trace.records import Kind
from reknit.wire.messages import (
    Ask,
    Close,
    Entry,
    Inquire,
    Lock,
    LockAck,
    LockNack,
    Mark,
    Open,
    Seated,
    Side,
    Swap,
    SwapId,
    Unlock,
)

__all__ = ["STEPS", "Step", "SwapState", "Swapping", "Wish"]

Step: TypeAlias = Lock | LockAck | LockNack | Unlock | Side | Swap | Open | Close | Seated | Ask | Inquire | Mark
STEPS = (Lock, LockAck, LockNack, Unlock, Side, Swap, Open, Close, Seated, Ask, Inquire, Mark)


@dataclass(slots=True)
class Wish:
    """An operator's swap of a link of ours."""

    middle: str
    goal: str
    request: int
    begun: float
    try_at: float
    waits: int = 0  # how often it was put off
    last: str = ""
    of: str = ""
    change: str = ""  # its id, once it has been tried


@dataclass(slots=True)
class Swapping:
    """One swap, as one of the three sees it."""

    note: SwapNote
    triangle: Triangle
    give_up_at: float
    wish: Wish | None = None
    ask_at: float | None = None  # at the goal: when to dial the mover (again)
    begun: float = 0.0
    torn: bool = False
    sides: tuple[list[Entry], list[Entry]] | None = None  # what the mover's side and the middle's want
    parts: tuple[list[Entry], list[Entry]] = field(default_factory=lambda: ([], []))  # of them, as they come
    told_middle: bool = False
    alone: bool = False  # at the goal: it has ended without one of the others
    owes: bool = False  # at the goal: the middle has died before the mover was known to have moved
    complained: bool = False  # at the middle: it has said that the goal is lost
    without: dict[str, None] = field(default_factory=dict)  # those that are lost, as far as it was said in the trace

    @property
    def mover(self) -> str:
        return self.note.id[0]


class SwapState:
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
        """``neighbours``: those of the tree. ``busy``: what else locks us. ``close_link``: once it is empty."""
        self.turn = turn
        self.links = links
        self.options = options
        self.rng = rng
        self.neighbours = neighbours
        self.busy = busy
        self.close_link = close_link
        self.history = history
        self.ready = True  # this broker knows its neighbours' tables
        self.current: Swapping | None = None
        self.closing: dict[str, Closing] = {}
        self.wishes: list[Wish] = []
        self.ended: dict[SwapId, Ended] = {}  # swaps that are over here, as goal
        self._ended_until: dict[SwapId, float] = {}  # and how long they are remembered
        self._taken_up: dict[SwapId, Custody] = {}  # of links replaced in a former life: what the goal is told anew
        self._said_leave: dict[str, None] = {}  # far ends of replaced links that have left them, in this life
        self._early: list[tuple[str, Step, Custody]] = []  # steps that wait until it is ready
        self._unseated: dict[str, SwapId] = {}  # goals whose tables do not count before they are seated

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

    def binds(self, peer: str) -> bool:
        """Is it linked with us by a swap that is under way? If it asks for a link, it has ended the swap without us."""
        if self.current is None or self.current.triangle.over:
            return False
        match self.current.note.stage:
            case Stage.LOCKED:
                return False  # it may have asked before, and not heard that it is linked
            case Stage.OPEN:
                return peer == self.current.note.goal
            case _:
                return self.involves(peer)

    def keepers(self) -> tuple[str, ...]:
        """For a life that begins: who is no neighbour in the tree, but may have kept events for the life before."""
        flooding = self.current is not None and self.current.triangle.flooding
        return self.hidden() if flooding else ()

    def yields_to(self, peer: str) -> tuple[str, ...]:
        """``peer`` may tell by another tree than the one this broker goes by: who know better, if both tell?"""
        swap = self.current
        if swap is None or peer not in (swap.note.middle, swap.note.goal):
            return tuple(each.id[0] for each in self.ended.values() if each.unheard and each.middle == peer)
        if swap.note.part is Part.MOVER:  # of its own side the others remember what the middle has told them
            return tuple(each for each in self.neighbours() if each not in swap.triangle.members)
        if swap.note.part is Part.GOAL:
            old = swap.note.opened and (swap.note.unheard or not swap.note.closed_ab)
        else:
            old = not swap.triangle.handed
        return (swap.mover,) if old else ()

    def counts(self, peer: str) -> bool:
        """Does it tell what it wants by the new tree?"""
        return peer not in self._unseated

    def joined(self, peer: str) -> None:
        """By a search, as a stranger: it tells by the tree as it is, and knows of no swap of ours that it was in."""
        self._parted_from(peer)

    def _parted_from(self, peer: str) -> None:
        """It is linked with us no more; if it ever is again, it tells by the tree as it is then."""
        self._unseated.pop(peer, None)
        self._heard_at_last(*[id_ for id_, each in self.ended.items() if each.middle == peer])

    def _heard_at_last(self, *swaps: SwapId) -> None:
        """Their middle, which they go on or have ended without here, goes by the new tree now."""
        if self.current is not None and self.current.note.id in swaps and self.current.note.unheard:
            self._note(self.current, unheard=False)
        for id_ in swaps:
            if id_ in self.ended and self.ended[id_].unheard:
                self.ended[id_] = msgspec.structs.replace(self.ended[id_], unheard=False)
                self.links.changed = True

    def adopted(self, peer: str) -> None:
        """It holds us for its neighbour, and this life began without it: what it was to hear, it hears now."""
        if (id_ := self._unseated.get(peer)) is not None:
            self._send(peer, Close(id_, True, True))

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

    def under_way(self) -> dict[str, Any] | None:
        """The swap that this broker takes part in now, for operators."""
        if self.current is None:
            return None
        note = self.current.note
        return {
            "id": change_name(note.id),
            "kind": SWAP,
            "brokers": [note.id[0], note.middle, note.goal],
            "part": note.part.value,
            "stage": note.stage.value,
            "since": self.current.begun,
            "waits_for": waits_for(note),
        }

    # --- notes

    def notes(self) -> str:
        swap = self.current
        note = None if swap is None or swap.triangle.over else swap.note
        return write_notes(Notes(note, self.closing, list(self.ended.values())))

    def recall(self, text: str) -> None:
        """Take up what the life before has left; ``take_up`` then goes on with it."""
        notes = read_notes(text)
        self.closing = dict(notes.closing)
        self.ended = {each.id: each for each in notes.ended}
        if notes.swap is not None:
            self.current = self._from_note(notes.swap)

    def _from_note(self, note: SwapNote) -> Swapping:
        swap = self._begin(msgspec.structs.replace(note, again=True))
        triangle = swap.triangle
        triangle.flooding = note.stage in (Stage.FLOOD, Stage.MOVED)
        triangle.moved = note.stage is Stage.MOVED
        triangle.opened, triangle.closed_ab, triangle.closed_ba = note.opened, note.closed_ab, note.closed_ba
        triangle.crossed = triangle.split = note.opened
        triangle.reclosed = note.stage is not Stage.FLOOD or note.part is not Part.MOVER
        self._tear(swap)
        return swap

    def found(self, peer: str) -> None:
        """A link of the life before is there again."""
        if self.current is not None and self.current.note.stage is Stage.OPEN and peer == self.current.note.goal:
            link = self.links.of[peer]
            link.awaited, link.dial_at = True, None

    # --- the tables that travel

    def take_sides(self, mover: list[Entry], middle: list[Entry]) -> None:
        if self.current is not None and not self.current.torn:
            self.current.sides = (mover, middle)

    def _send_sides(self, swap: Swapping) -> Iterator[OverlayEvent]:
        """The mover has told what it wants until now; of the others, what it knew when it was told last counts."""
        if swap.sides is None:
            return
        apart = swap.sides[1]
        yield SidesWanted(swap.mover, swap.note.goal)
        swap.sides = (swap.sides[0], apart)
        for side in side_messages(swap.note.id, *swap.sides):
            self._send(swap.note.goal, side)

    # --- inside

    def _begin(self, note: SwapNote) -> Swapping:
        members = (note.id[0], note.middle, note.goal)
        triangle = Triangle(self.turn, self.links, note.id[1], note.part, members, self.options.causal)
        return Swapping(note, triangle, self.turn.now + self.options.lease_s, begun=self.turn.now)

    def _enter(self, swap: Swapping) -> None:
        """Into the history."""
        note, wish = swap.note, swap.wish
        deed = Deed(SWAP, (note.id[0], note.middle, note.goal))
        if wish is None:
            self.history.begin(change_name(note.id), deed, note.part.value, note.of)
            return
        self.history.forget(wish.change)  # the try before
        wish.change = change_name(note.id)
        self.history.begin(wish.change, deed, note.part.value, wish.of, wish.begun)

    def _set_current(self, swap: Swapping | None) -> None:
        before, self.current = self.current, swap
        if swap is not None:
            self._enter(swap)
        elif before is not None and before.wish is None and self.history.is_open(change_name(before.note.id)):
            self.history.forget(change_name(before.note.id))  # given up, which is for the mover to tell
        self.links.changed = True

    def _note(self, swap: Swapping, **changes: object) -> None:
        fields = {name: getattr(swap.note, name) for name in SwapNote.__struct_fields__}
        swap.note = SwapNote(**(fields | changes))
        self.links.changed = True

    def _tear(self, swap: Swapping) -> None:
        swap.torn = swap.triangle.torn = True
        swap.sides = None if swap.note.part is Part.MIDDLE else swap.sides

    def _see(self, swap: Swapping, peer: str, what: str) -> None:
        self.turn.see(Kind.CHANGE, peer=peer, detail=f"swap: {what} at the {swap.note.part.value}")

    def _close(self, peer: str, swap: Swapping) -> None:
        """The link that is replaced stays until it is empty, for this life and the next."""
        if peer not in self.links.of:
            return
        address = self.links.of[peer].address
        self.closing[peer] = Closing(swap.note.id, swap.note.goal, address, swap.note.part)
        self.links.changed = True
        self.close_link(peer)

    def holds(self, peer: str) -> bool:
        """A life that has taken it up keeps a replaced link in mind until the goal has what was said of it again."""
        closing = self.closing.get(peer)
        told = self._taken_up.get(closing.id) if closing is not None else None
        return told is not None and told.pending > 0

    def leads_round(self, peer: str, back: str) -> bool:
        """In a swap of ours: does ``back`` get what we have sent to ``peer``? They are its middle and its goal.

        The goal gets from the middle what went the old way, and the middle, before it has handed us over, from the goal
        what goes the new one.
        """
        ways = [(old, each.goal) for old, each in self.closing.items() if each.part is Part.MOVER]
        if self.current is not None and self.current.note.part is Part.MOVER:
            ways.append((self.current.note.middle, self.current.note.goal))
        return (peer, back) in ways or (back, peer) in ways

    def needs(self, peer: str) -> bool:
        """Is something still to be said by way of this neighbour about a link that was replaced?"""
        return any(closing.goal == peer and self.holds(old) for old, closing in self.closing.items())

    def left(self, peer: str) -> None:
        """The far end of a replaced link has left it: nothing more comes on it."""
        if (closing := self.closing.get(peer)) is not None:
            self.turn.see(Kind.CHANGE, peer=peer, detail=f"swap: leave at the {closing.part.value}")
        self._said_leave[peer] = None

    def closed(self, peer: str, emptied: bool = True) -> None:
        """The replaced link is gone; unless ``emptied`` its far end was away for too long, and some may be lost."""
        self._said_leave.pop(peer, None)
        self._parted_from(peer)
        if (closing := self.closing.pop(peer, None)) is not None:
            self._taken_up.pop(closing.id, None)
            self.links.changed = True
            what = "emptied" if emptied else "without"
            self.turn.see(Kind.CHANGE, peer=peer, detail=f"swap: {what} at the {closing.part.value}")

    def flush(self) -> None:
        if self.current is not None:
            self.current.triangle.flush()

    def _send(self, peer: str, step: Step, custody: Custody | None = None) -> None:
        if self.current is not None:
            self.current.triangle.flush()  # a step never overtakes events
        if (link := self.links.of.get(peer)) is None:
            return
        if custody is not None:  # in a frame of its own: events beside it may not be settled before it is, in a circle
            link.flush()
        self.history.sent(change_name(step.id), link.send(step, custody))
        if custody is not None:
            link.flush()
