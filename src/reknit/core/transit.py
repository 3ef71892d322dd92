"""The way of an event through one broker: from a client or a neighbour in, to clients and neighbours out.

Links are FIFO and the overlay is a tree, so the numbers of one source only rise, and an event that is not newer than
the last of its source is a copy; where links lose events, more has to be remembered (``recovery.history``). As long as
the gate is shut, nobody knows who wants an event, and it waits, within bounds.

What clients have published at QoS 1 or 2 is acknowledged to them, so it has to outlive this broker until the neighbours
have taken it over: the shell is told to keep it, and when it may forget it. That is all that links need of a store. A
frame from a neighbour needs no entry: it is settled, and so forgotten there, only once it is settled further on or its
local copies are kept here; until then the neighbour has it, and sends it again to the next life.

Owns: event ids, the guard against copies, and what waits for the gate. Must not know: how a route is found, or by which
message an event has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reknit.core.book.retained import RetainedLines
from reknit.core.io import Deliver, Direct, Keep, Match, Publish
from reknit.core.links.custody import Custody
from reknit.core.options import BrokerOptions
from reknit.core.overlay.events import Arrived
from reknit.core.overlay.overlay import Overlay
from reknit.core.recovery.history import History
from reknit.core.recovery.recovery import Recovery
from reknit.core.recovery.returns import Returned
from reknit.core.recovery.runs import one_run
from reknit.core.routing.base import Routing
from reknit.core.routing.gate import Gate
from reknit.core.routing.table import Route
from reknit.core.sessions.sessions import Sessions
from reknit.core.shares.shares import Shares
from reknit.core.turn import Turn
from reknit.model.event import Event, in_order_of_numbers
from reknit.trace.records import Kind
from reknit.wire.messages import Bequest, Events, Gossip

__all__ = ["Transit"]

_NOBODY = Custody(None, 0, [])
"""For events that no neighbour can take over and nobody watches: there is nothing to count."""


class Transit:
    def __init__(
        self,
        turn: Turn,
        gate: Gate,
        overlay: Overlay,
        routing: Routing,
        sessions: Sessions,
        retained: RetainedLines,
        shares: Shares,
        recovery: Recovery | None,
        history: History | None,
        source: str,
        seen: dict[str, int],
        options: BrokerOptions,
    ) -> None:
        """``source``: the name under which this life stamps. ``seen``: by source, its last event that came by.

        ``history``: which events have come by, where one may come behind later ones.
        """
        self.turn = turn
        self.gate = gate
        self.overlay = overlay
        self.routing = routing
        self.sessions = sessions
        self.retained = retained
        self.shares = shares
        self.recovery = recovery
        self.history = history
        self.source = source
        self.options = options
        self.unrouted = 0  # events that may not have got where they were wanted; see the gate
        self._seen = seen
        self._held: list[tuple[Event, Arrived | None, Custody]] = []
        self._again: dict[Custody, None] = {}  # of events that the clients here have had in a life before
        self._releasing = False
        self._seq = 0
        self._order = None if recovery is None else recovery.order
        self._in_order: Mapping[Any, float] = {} if recovery is None else recovery.order.wishes  # asked for every event
        if recovery is not None:
            sessions.ordered = recovery.order.want
            sessions.departures.leaving = recovery.leaving.leave
            sessions.departures.is_early = recovery.leaving.is_early
            sessions.departures.last_words = recovery.leave
            sessions.arrivals.aged = recovery.heritage.expect
            sessions.settled = recovery.heritage.settle
            sessions.kept = recovery.heritage.recall
            sessions.arrivals.left_for = recovery.inherit
            sessions.arrivals.give_late = self._give_late
            sessions.copies.lacks = recovery.heritage.of
            sessions.copies.runs = None if history is None else history.runs
            sessions.copies.guard.watch_s = recovery.options.lost_s_max
        sessions.copies.late = history is not None
        sessions.copies.last_of_own = lambda: self._seq

    # --- in

    def inputs(self) -> dict[type, Callable[[Any], None]]:
        """What is handled here as it is."""
        return {Publish: self.publish, Direct: lambda each: self.take_direct(each.datagram)}

    def publish(self, each: Publish) -> None:
        if self.overlay.links.of or self.turn.observing or not self.gate.open:
            custody = Custody(None, 0, list(each.events) if self.turn.observing or self.turn.keeping else [])
            self.turn.custodies.append(custody)
            if self.turn.observing:
                self.turn.published(each.client, custody.events)
        else:
            custody = _NOBODY
        if self.gate.open and not self.shares:
            self._stamp(each.events)
            self._begin_way(each.events, custody)
            return
        for event in each.events:  # one by one: what is sent on for groups has a number in between
            self._stamp((event,))
            if self.gate.open:
                self._begin_way((event,), custody)
            else:
                self._hold(event, None, custody)

    def _stamp(self, events: Sequence[Event]) -> None:
        for event in events:
            event.source = self.source
            event.seq = self._seq = self._seq + 1
            if event.envelope is not None and event.envelope.retain:
                self.retained.publish(event)

    def _begin_way(self, events: Sequence[Event], custody: Custody) -> None:
        """Of events that were published here, in this life."""
        self._remember(events[-1])  # in the next life it may come back, to those who have had it
        if self.recovery is None:
            for event in events:
                self._dispatch(event, self.routing.route(event), "", (), custody)
            return
        routes = [self.routing.route(event) for event in events]
        numbered = self.recovery.number(events, routes)
        for event, route in zip(events, routes, strict=True):
            self._dispatch(event, route, "", (), custody)
        self.recovery.keep(numbered)

    def take(self, events: Sequence[Event], arrived: Arrived) -> None:
        """The events of one message from a neighbour."""
        if not self.gate.open:
            for event in events:
                self._hold(event, arrived, arrived.custody)
        elif self.sessions.busy:  # whoever moves a session asks after each which was the last
            for event in events:
                self._go_through((event,), arrived)
        else:
            self._go_through(events, arrived)

    def _go_through(self, events: Sequence[Event], arrived: Arrived) -> None:
        run = None if self.recovery is None else one_run(events)
        if not self._are_next(events, run is not None):
            events, run = self._without_copies(events, arrived), None
        if self.recovery is not None:
            self.recovery.note(events, self._frame_of(events), run)
        peer, skip, custody = arrived.peer, arrived.skip, arrived.custody
        for event in events:
            self._dispatch(event, self.routing.route(event), peer, skip, custody)

    def _frame_of(self, events: Sequence[Event]) -> bytes:
        """The bytes that have brought these events and no others, if any have."""
        says = self.turn.says
        return self.turn.frame if len(says) == 1 and isinstance(says[0], Events) and says[0].events is events else b""

    def _without_copies(self, events: Sequence[Event], arrived: Arrived) -> Sequence[Event]:
        """The very same where there are none."""
        new = []
        for event in events:
            if self._is_copy(event):
                self._drop_copy(event, arrived)
            else:
                self._remember(event)
                new.append(event)
        return new if len(new) < len(events) else events

    def _drop_copy(self, event: Event, arrived: Arrived) -> None:
        peer, custody = arrived.peer, arrived.custody
        self.turn.see(Kind.DROPPED, peer=peer, event=event, detail="copy")
        self._entrust(event, peer, custody)
        for neighbour in arrived.relay:
            if neighbour in self.routing.route(event).neighbours:
                self.overlay.forward(event, neighbour, peer, custody)

    def _are_next(self, events: Sequence[Event], in_line: bool) -> bool:
        """Whether they are newer than all before of their source, and in line: so none is a copy.

        As nearly all are; then it is enough to remember the last. ``in_line``: of one source, and with nothing of it
        between them; if False, that is still to be seen.
        """
        if not events:
            return True
        source, first = events[0].source, events[0].seq
        if source == self.source or first <= self._seen.get(source, 0) or not (in_line or _are_in_line(events)):
            return False
        if self.history is not None and not self.history.add_run(source, first, first + len(events) - 1):
            return False
        self._remember(events[-1])
        return True

    def _is_copy(self, event: Event) -> bool:
        if self.history is not None:
            return event.source == self.source or not self.history.add(event.source, event.seq)
        return event.seq <= self._seen.get(event.source, 0) or event.source == self.source

    def _entrust(self, event: Event, sender: str, custody: Custody) -> None:
        """A copy comes from somebody who has lost its memory, and would forget the event for good if we said *settled*.

        Where the first one is still on its way further on, that is not true yet: were we to die now, nobody had it. But
        not where the copy is the first one, come round: then each of them would wait for the other. Of what was
        published here no other copy can come.
        """
        if event.source == self.source:
            return
        self.overlay.swaps.flush()  # it may have come in this very turn
        for name, link in self.overlay.links.of.items():
            if name != sender and not self.overlay.swaps.leads_round(name, sender):
                link.entrust(event, sender, custody)

    def _remember(self, event: Event) -> None:
        if event.source not in self._seen and len(self._seen) >= self.options.sources_max:
            del self._seen[next(iter(self._seen))]
        self._seen[event.source] = max(event.seq, self._seen.get(event.source, 0))

    # --- the next life, and the one before

    def keep(self, custody: Custody) -> None:
        """Events of clients that are not settled at the end of a turn."""
        routed = self.gate.open
        if custody.kept == routed:
            return
        custody.kept = routed
        if events := [event for event in custody.events if event.qos]:
            self.turn.effects.append(Keep(events, routed))

    def recall(self, kept: Sequence[tuple[Event, bool]]) -> None:
        """Events that a life before has kept; those that were routed go to neighbours only."""
        for event, routed in kept:
            custody = Custody(None, 0, [event])
            custody.kept = routed
            if routed:
                self._again[custody] = None
            if self.gate.open:
                self.turn.custodies.append(custody)
                self._go_on(event, custody)
            else:
                self._held.append((event, None, custody))  # beyond any bound: they have been acknowledged

    def _go_on(self, event: Event, custody: Custody) -> None:
        """An event of clients, of this life or of one before, that waited for the gate."""
        if event.source != self.source:
            self._remember(event)  # not sooner: were we to die before, nobody here would have had it
            if self.history is not None:
                self.history.add(event.source, event.seq)
        if custody in self._again:
            del self._again[custody]
            for neighbour in self.routing.route(event).neighbours:
                self.overlay.forward(event, neighbour, "", custody)
            if self.gate.late:
                self._see_unrouted(event, "")
        elif event.source == self.source:
            self._begin_way((event,), custody)
        else:
            if self.recovery is not None:
                self.recovery.note((event,))
            self._dispatch(event, self.routing.route(event), "", (), custody)

    # --- out

    def _dispatch(self, event: Event, route: Route, sender: str, skip: tuple[str, ...], custody: Custody) -> None:
        """Send an event on to whoever wants it, but to no neighbour in ``skip``."""
        if self.shares or event.sharing is not None:
            self._share(event, sender, custody)
        matches = route.matches if event.sharing is None or not event.sharing.alone else ()
        if matches and self.sessions.busy:
            matches = self.sessions.sift(event, sender, matches)
        if matches and self._in_order and self._order is not None:
            matches = self._order.sift(event, matches, custody)
        if matches:
            self.turn.effects.append(Deliver(event, matches))
        for neighbour in route.neighbours:
            if neighbour not in skip:
                self.overlay.forward(event, neighbour, sender, custody)
        if self.gate.late:
            self._see_unrouted(event, sender)

    def take_gossip(self, message: Gossip, arrived: Arrived) -> None:
        recovery = self.recovery
        if recovery is None:
            return
        if not isinstance(message, Bequest):
            recovery.receive(arrived.peer, message, arrived.custody, self.gate.open)
        elif self.sessions.drains(arrived.peer):
            self._deliver_all_back(recovery, recovery.bequests.take(arrived.peer, message))
        else:  # nobody is to fill our cache who does not leave
            recovery.talk.figures.unasked += len(message.events)

    def take_direct(self, datagram: bytes) -> None:
        """What has come past the tree may bring events back."""
        if self.recovery is not None:
            self._deliver_all_back(self.recovery, self.recovery.receive_direct(datagram))

    def _deliver_all_back(self, recovery: Recovery, returned: Iterable[Returned]) -> None:
        for event, born, new in returned:
            if new:
                self.deliver_recovered(recovery, event, born)
            elif self.sessions.busy:
                self._deliver_to_heirs(recovery, event, born)

    def deliver_recovered(self, recovery: Recovery, event: Event, born: float) -> None:
        """An event that was lost on its way here: for clients that wanted it when it was published, at ``born``.

        And for a member of each group for which this broker was chosen then.
        """
        self._remember(event)  # a next life, or the broker that a session moves to, has to take it for a copy
        if event.sharing is not None:
            self.shares.serve(event, event.sharing, self._own_custody(event))
            self._send_on()
            if event.sharing.alone:
                return
        wanted = tuple(each for each in self.routing.route(event).matches if recovery.admits(*each, event, born))
        self._deliver_back(recovery, event, self.sessions.sift(event, "", wanted) if self.sessions.busy else wanted)

    def _deliver_to_heirs(self, recovery: Recovery, event: Event, born: float) -> None:
        """What has come by here before, and was asked for again: for sessions that have come later and lack it."""
        if event.sharing is not None and event.sharing.alone:
            return
        guard, matches = self.sessions.copies.guard, self.routing.route(event).matches
        wanted = tuple(each for each in matches if guard.is_watched(each[0]) and recovery.admits(*each, event, born))
        if matches := self.sessions.sift(event, "", wanted):
            self.turn.see(Kind.RECOVERED, event=event)
            self._deliver_back(recovery, event, matches)

    def _give_late(self, event: Event, match: Match) -> None:
        """What is kept here, and was on its way to a session that had left already for here."""
        if self.recovery is not None:
            self.turn.see(Kind.RECOVERED, event=event)
            self._deliver_back(self.recovery, event, (match,))

    def _deliver_back(self, recovery: Recovery, event: Event, matches: tuple[Match, ...]) -> None:
        if self.sessions.departures.drain is not None:
            for client, _ in matches:
                self.sessions.copies.came_back(event, client)
        if matches and self._in_order:
            matches = recovery.order.sift(event, matches, None)
        if matches:
            self.turn.effects.append(Deliver(event, matches))

    def _share(self, event: Event, sender: str, custody: Custody) -> None:
        """Where the event is published, decide which members of groups get it; where they are, hand it to them."""
        if not sender and event.sharing is None:
            self.shares.stamp(event)
        if event.sharing is not None:
            self.shares.serve(event, event.sharing, custody)
            self._send_on()

    def _send_on(self) -> None:
        """What members that are not here any more do not get; what it was made of is settled when it is.

        Behind what waited for the gate: that has its numbers already, and numbers must rise on every link.
        """
        if self._releasing:
            return
        errands, self.shares.errands = self.shares.errands, []
        for event, custody in errands:
            event.source = self.source
            event.seq = self._seq = self._seq + 1
            if self.turn.observing and event.sharing is not None:
                (share,), (source, seq) = event.sharing.choices, event.sharing.of
                detail = f"{source} {seq} {share.group}"
                self.turn.see(Kind.PASSED_ON, peer=share.broker, event=event, detail=detail)
            kept = self.turn.keeping  # then what it was made of need not wait
            self._begin_way((event,), self._own_custody(event) if kept or custody is None else custody)

    def _own_custody(self, event: Event) -> Custody:
        custody = Custody(None, 0, [event] if self.turn.keeping else [])
        self.turn.custodies.append(custody)
        return custody

    def end_of_turn(self) -> None:
        """The same for what had waited for a client, or for any member."""
        if not self.shares.at_rest:
            self.shares.end_of_turn()
        if self.shares.errands:
            self._send_on()
        if self._order is not None and self._order.busy:
            self._order.release()

    def _see_unrouted(self, event: Event, sender: str) -> None:
        """The gate did not wait for these neighbours any longer: they may have wanted the event, and nobody knows."""
        for neighbour in self.gate.late:
            if neighbour != sender:
                self.unrouted += 1
                self.turn.see(Kind.DROPPED, peer=neighbour, event=event, detail="its table is not known")

    # --- the wait for the gate

    def _hold(self, event: Event, arrived: Arrived | None, custody: Custody) -> None:
        """``arrived``: None for an event that was published here."""
        if len(self._held) >= self.options.held_events_max:
            self.turn.see(Kind.DROPPED, event=event, detail="waiting for neighbours' tables, and too many wait")
            return
        custody.pending += 1
        self._held.append((event, arrived, custody))

    def release_held(self) -> None:
        """The gate has opened: events that waited go on.

        In the order in which they came, but those of one source in the order of their numbers: where a link has moved,
        what was kept for us comes on the old way and on the new one.
        """
        held, self._held = self._held, []
        self._releasing = True
        for event, arrived, custody in in_order_of_numbers(held, lambda item: item[0]):
            self.turn.custodies.append(custody)  # takes over the hold that the queue had
            if arrived is not None:
                self.take((event,), arrived)
            else:
                self._go_on(event, custody)
        self._releasing = False
        self._send_on()
        if self.recovery is not None:
            self.recovery.release_held()


def _are_in_line(events: Sequence[Event]) -> bool:
    source, seq = events[0].source, events[0].seq
    for event in events:
        if event.seq != seq or event.source != source:
            return False
        seq += 1
    return True
