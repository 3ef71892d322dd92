"""The triangle of a swap: how events go among three brokers while their tree becomes another one (SWAP, section IV).

The mover's link to the middle becomes a link to the goal. In between, all three are linked with each other, and
each gives what comes from outside to both others itself, marked *flood*: whoever receives it hands it to the outside
only. So nothing is sent twice, and nothing waits for the swap. What may have to wait is an event whose way has become
shorter (or longer) than that of an older event of the same flow: until the *close* that was sent behind the older one
on the old way (ChangePath). And an event waits for its causes (``causal``).

One of these stands at each of the three brokers, which has a *part* in it.

Owns: the mode in which events are sent, and those that wait. Must not know: locks, or who says when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from reknit.core.links.custody import Custody
from reknit.core.links.links import Links
from reknit.core.overlay.causal import Stamps
from reknit.core.overlay.events import Arrived
from reknit.core.overlay.notes import Part
from reknit.core.turn import Turn
from reknit.model.event import Event, event_bytes, in_order_of_numbers
from reknit.wire.messages import Events, Mode, Steered

__all__ = ["Triangle"]


@dataclass(slots=True)
class _Waiting:
    """Events of one message that has come."""

    message: Steered
    custody: Custody
    outside: bool  # it goes to none of the three


@dataclass(slots=True)
class _Batch:
    """Events of one turn for one of the others."""

    mode: Mode
    events: list[Event] = field(default_factory=list)
    custodies: list[Custody] = field(default_factory=list)
    size: int = 0


class Triangle:
    def __init__(
        self, turn: Turn, links: Links, swap: int, part: Part, members: tuple[str, str, str], causal: bool
    ) -> None:
        """``swap``: its number. ``members``: mover, middle, goal."""
        self.turn = turn
        self.links = links
        self.swap = swap
        self.part = part
        self.members = members
        self.mover, self.middle, self.goal = members
        self.stamps = Stamps(members, turn.node) if causal else None
        self.relays: Callable[[str], tuple[str, ...]] = lambda _: ()  # who needs even copies, because of older swaps
        self.torn = False  # one of the three has lost its memory: counts mean nothing any more
        self.flooding = False
        self.over = False  # here all goes by the new tree; some may still wait
        self.moved = False  # at the mover: it uses the new link
        self.reclosed = True  # at the mover: the old way from the goal is closed, in this life too
        self.handed = False  # at the middle: close(ab) has come
        self.crossed = False  # at the goal: close(abc) has come
        self.opened = self.closed_ab = self.closed_ba = False  # at the goal
        self.split = False  # at the goal: routing tells the mover's side from the middle's
        self._inbox: dict[str, deque[_Waiting]] = {name: deque() for name in members if name != turn.node}
        self._out: dict[str, list[_Batch]] = {name: [] for name in members if name != turn.node}
        self._untold: set[str] = set()  # who does not know of all that was sent from here
        self.waiting_since: float | None = None

    # --- out

    @property
    def hops(self) -> tuple[str, ...]:
        """The neighbours of routing that stand for the others."""
        match self.part:
            case Part.MOVER:
                return (self.goal,) if self.moved else (self.middle,)
            case Part.MIDDLE:
                return (self.goal,) if self.handed else (self.mover, self.goal)
            case Part.GOAL:
                return (self.mover, self.middle) if self.split else (self.middle,)

    def steers(self, hop: str) -> bool:
        return self.flooding and not self.over and hop in self.hops

    def forward(self, event: Event, hop: str, sender: str, custody: Custody) -> None:
        """Send an event that is wanted behind ``hop``. ``sender``: whoever of the three it came from, if one did."""
        size = event_bytes(event)
        for peer in self._targets(hop, sender):
            link = self.links.of.get(peer)  # it may have left: the swap goes on without it
            if link is not None and link.takes(event, size, sum(batch.size for batch in self._out[peer])):
                self._add(peer, self._mode(peer, sender), event, size, custody)
                if self.turn.observing:
                    self.turn.forwarded(event, peer)

    def _targets(self, hop: str, sender: str) -> tuple[str, ...]:
        if self.part is Part.MOVER and not self.moved:
            return (self.middle, self.goal)
        if self.part is Part.GOAL and not self.split:
            return tuple(name for name in (self.mover, self.middle) if name != sender)
        return (hop,)

    def _mode(self, peer: str, sender: str) -> Mode:
        relayed = sender in self._inbox
        match self.part:
            case Part.MOVER:
                return Mode.PLAIN if self.moved else Mode.FLOOD
            case Part.MIDDLE:
                return Mode.PLAIN if relayed else Mode.FLOOD
            case Part.GOAL:
                if relayed:
                    settled = self.closed_ab if peer == self.middle else self.closed_ba
                    return Mode.PLAIN if settled else Mode.VIA
                return Mode.PLAIN if peer == self.middle and self.closed_ab else Mode.FLOOD

    def _add(self, peer: str, mode: Mode, event: Event, size: int, custody: Custody) -> None:
        batches = self._out[peer]
        full = self.links.of[peer].options.frame_bytes_target
        if not batches or batches[-1].mode is not mode or batches[-1].size + size > full:
            batches.append(_Batch(mode))
        batch = batches[-1]
        batch.events.append(event)
        batch.size += size
        if not batch.custodies or batch.custodies[-1] is not custody:
            batch.custodies.append(custody)

    def flush(self) -> None:
        """What this turn has for the others becomes messages; each stamp knows of all of them."""
        out = [(peer, batch) for peer, batches in self._out.items() for batch in batches if peer in self.links.of]
        if not out:
            return
        if self.stamps is not None:
            for peer, _ in out:
                self.stamps.count(peer)
        stamp = self.stamps.stamp() if self.stamps is not None else []
        for peer, batch in out:
            self.links.of[peer].send_steered(
                Steered(self.swap, batch.mode, stamp, batch.events), batch.custodies, batch.size
            )
        for batches in self._out.values():
            batches.clear()
        self._untold = set(self._out).difference(peer for peer, _ in out)

    def flush_for_good(self, peer: str) -> None:
        """The same, before events go to ``peer`` without a stamp: it knows then what was sent to the third alone."""
        self.flush()
        if self.stamps is not None and not self.torn and peer in self._untold:
            self.stamps.count(peer)
            self.links.of[peer].send_steered(Steered(self.swap, Mode.PLAIN, self.stamps.stamp(), []), [], 0)
            self._untold.discard(peer)

    # --- in

    def take(self, peer: str, message: Events | Steered, custody: Custody) -> None:
        """Events from one of the others; ``release`` says which may go on."""
        if isinstance(message, Steered) and message.swap == self.swap:
            steered = message
        else:
            steered = Steered(self.swap, Mode.PLAIN, [], message.events)
        custody.pending += 1
        self._inbox[peer].append(_Waiting(steered, custody, self._is_for_outside(peer, steered.mode)))

    def _is_for_outside(self, peer: str, mode: Mode) -> bool:
        match self.part:
            case Part.MOVER:
                return True
            case Part.MIDDLE:
                return mode is not Mode.PLAIN or self.handed
            case Part.GOAL:
                old = not self.closed_ab if peer == self.middle else not self.opened
                return mode is not Mode.PLAIN or old

    def release(self) -> Iterator[Arrived]:
        """All that need wait no longer, in an order that keeps each flow's."""
        going = True
        while going:
            going = False
            for peer, waiting in self._inbox.items():
                while waiting and not self._must_wait(peer, waiting[0]):
                    going = True
                    yield self._arrived(peer, waiting.popleft())
        if self.empty:
            self.waiting_since = None
        elif self.waiting_since is None:
            self.waiting_since = self.turn.now

    def sort(self) -> None:
        """What the goal has relayed was lost and found on the way: bring each source's events into their order."""
        waiting = self._inbox[self.goal]
        single = [(event, item) for item in waiting for event in item.message.events]
        waiting.clear()
        for event, item in in_order_of_numbers(single, lambda pair: pair[0]):
            message = Steered(item.message.swap, item.message.mode, [], [event])
            item.custody.pending += 1
            waiting.append(_Waiting(message, item.custody, item.outside))
        for _, item in {id(item): (event, item) for event, item in single}.values():
            self.turn.custodies.append(item.custody)  # the hold of the whole

    def discard(self, peer: str) -> None:
        """It has died: what came from it and still waits is not settled, so it comes again, in its order."""
        self.turn.custodies.extend(item.custody for item in self._inbox[peer])
        self._inbox[peer].clear()

    @property
    def empty(self) -> bool:
        return not any(self._inbox.values())

    def _arrived(self, peer: str, item: _Waiting) -> Arrived:
        if self.stamps is not None and item.message.stamp:
            self.stamps.handle(peer, item.message.stamp)
        self.turn.custodies.append(item.custody)  # takes over the hold that the queue had
        skip = self.hops
        older = not self.flooding and item.custody.link is not None  # nothing has changed by this swap yet
        relay = self.relays(peer) if older else ()
        if not item.outside:
            skip = (peer,) if self.split or self.part is Part.MIDDLE else ()
            if self.torn and self.part is Part.GOAL:
                relay = (self._third(peer) if self.split else self.middle,)
        return Arrived(peer, [Events(item.message.events)], item.custody, skip, relay)

    def _third(self, peer: str) -> str:
        return self.middle if peer == self.mover else self.mover

    def _must_wait(self, peer: str, item: _Waiting) -> bool:
        if self.over:
            late = False
        elif self.part is Part.MOVER:
            early = not self.flooding or not self.reclosed
            late = (peer == self.goal and early) or item.message.mode is Mode.VIA
        elif self.part is Part.MIDDLE:
            late = item.message.mode is Mode.VIA and not self.handed
        else:
            late = peer == self.mover and not self.crossed
        return late or self._waits_for_causes(peer, item.message.stamp)

    def _waits_for_causes(self, peer: str, stamp: list[int]) -> bool:
        return self.stamps is not None and bool(stamp) and not self.torn and not self.stamps.ready(peer, stamp)
