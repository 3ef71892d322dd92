"""One session comes from another broker of the ring; the other side is ``leaving``.

The life of one that arrives:

    state      input                          what follows
    ---------  -----------------------------  ------------------------------------------------------------------
    offered    the last part of its patterns  they are entered as those of a client of ours; to *opening*
    opening    all its topics' trees lead     *Opened*; to *open*
               here
    both       an event                       held
    open       what its client has had;       kept
               parts of its state
               the last of these              the shell has it, but lets nobody in; then what was held; *Taken*; to
                                              *merging*
    merging    *Told*                         its client may come
               the old broker is lost         the same; it is ours if that one has not come back for ``lease_s``
               an event, by a tree or passed  delivered once, and in the order of its source and topic
               on by the old broker
               the old one has passed on all  a client like any other, once nothing waits for an earlier one, and it
                                              has had what was here before; but what was passed on may still come by
                                              a tree, and is a copy then

Until *Told* the session may be taken back, and what its client has published at the old broker may not have settled: so
it must not come and publish here. If that word, or the other, is lost with a link, the old broker is asked again when
there is one.

What comes here by a tree is seen before this broker itself has put it in order: while it wants a topic only since this
session has come, it waits for nothing, and what comes too late for others is still what this one lacks. So is what was
delivered here before, and had not come to the old broker when the topic's root died: it comes once more by the next.

Owns: what has not fully arrived, and the order of what comes on two ways. Must not know: why a session moves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from reknit.core.io import Admit, Deliver, Import, Match, Reserve
from reknit.core.ring.options import RingOptions
from reknit.core.ring.order import Load, Order
from reknit.core.ring.station import Station
from reknit.core.routing.base import Routing
from reknit.core.routing.table import client as client_hop
from reknit.core.sessions.arrivals import Arrivals, Guest
from reknit.core.sessions.copies import Copies
from reknit.core.sessions.options import SessionOptions
from reknit.core.shares.shares import Shares
from reknit.core.turn import Turn, earliest
from reknit.model.event import Event
from reknit.trace.records import Kind
from reknit.wire.messages import Message, Offer, Opened, Rest, Taken, Withdraw
from reknit.wire.placement import LastLine, Lasts, Passed

__all__ = ["Arriving"]

AGAIN_S = 1.0
"""How often an old broker that has not answered is told again that its session is here."""

LEAVERS = 4
"""A broker takes as many sessions at once as so many brokers may send."""


@dataclass(slots=True)
class _Coming:
    peer: str
    move: int
    topics: dict[str, None]
    until: float
    """So long this broker itself does not wait for what is missing of these topics."""
    late: float
    """Until then what this broker had before may come once more, for this session only."""
    before: list[LastLine]
    """What this broker had of these topics, before the session came."""
    opening: bool = True
    lasts: list[LastLine] = field(default_factory=list)
    held: list[Load] = field(default_factory=list)
    order: Order | None = None
    """From the moment that it is here."""
    over: bool = False
    """Nothing more comes from the old broker."""


class Arriving(Arrivals):
    def __init__(
        self,
        turn: Turn,
        routing: Routing,
        shares: Shares,
        clients: dict[str, None],
        copies: Copies,
        options: SessionOptions,
        station: Station,
        ring: RingOptions,
        door: str,
        relay: str,
    ) -> None:
        """``door``: where clients connect, as others are told; ``relay``: where other brokers bring them."""
        super().__init__(turn, routing, shares, clients, self._say_to, copies, options)
        self.station, self.ring, self.door, self.relay = station, ring, door, relay
        self.came: Callable[[str], None] = lambda client: None  # is told who has come
        self.ours: Callable[[str, str], None] = lambda client, peer: None  # is told who is ours, though nobody said so
        self._coming: dict[str, _Coming] = {}  # by client
        self.gaps = 0  # events that sessions did not wait for any longer
        self._again_at: float | None = None
        self._orphans: dict[str, float] = {}  # by client whose old broker is lost: when its session is ours
        self._ahead: dict[str, dict[tuple[str, str], int]] = {}  # by client: what it has had beyond what came by here

    def _say_to(self, peer: str, message: Message) -> None:
        self.station.peers.say(peer, "", message)

    # --- what the old broker says

    def on_offer(self, peer: str, offer: Offer) -> None:
        """Not too many at once, from however many brokers: for each, events are held here."""
        if offer.part == 0 and offer.client not in self.of:
            coming = sum(not arrival.here for arrival in self.of.values())
            if coming >= LEAVERS * self.options.moves_max:
                why = f"{self.turn.node} is taking {coming} sessions over, and no more at once"
                self.send(peer, Opened(offer.client, offer.move, why, retry=True))
                return
        super().on_offer(peer, offer)

    def _open(self, client: str, arrival: Guest) -> None:
        arrival.open = True
        self.clients[client] = None
        self.turn.effects.append(Reserve(client))
        for pattern in arrival.patterns:
            self.routing.subscribe(client, pattern)
        topics = dict.fromkeys(each.topic for each in arrival.patterns)
        now, before = self.turn.now, self.station.order.lasts(topics)
        times = (now + self.ring.fresh_s, now + self.ring.way_s_max)
        coming = _Coming(arrival.peer, arrival.move, topics, *times, before)
        coming.held = [Load(load.event, load.before, ()) for load in self.station.order.waiting(topics)]
        self._coming[client] = coming

    def on_lasts(self, peer: str, lasts: Lasts) -> None:
        """Beyond ``lines_max``, the last ones count: those that were quiet for longest come first."""
        if (coming := self._of(peer, lasts)) is not None:
            coming.lasts = [*coming.lasts, *lasts.lines][-self.ring.lines_max :]

    def _fill(self, client: str, arrival: Guest, rest: Rest) -> None:
        arrival.filling = True

    def _arrive(self, client: str, arrival: Guest) -> None:
        arrival.here = True
        coming = self._coming[client]
        self.turn.see(Kind.MOVED_IN, client=client, peer=arrival.peer)
        self.turn.effects += [Import(client, b"".join(arrival.state)), Reserve(client)]
        coming.order = Order(self.turn, self.ring.order_s_max, self.ring.fresh_s, self.ring.lines_max)
        coming.order.inherit(coming.topics, coming.lasts)
        held, coming.held, coming.lasts, arrival.state = coming.held, [], [], []
        for load in held:
            self._deliver(client, coming.order.arrive(load))
        self.came(client)
        self._again_at = self.turn.now + AGAIN_S
        self.send(arrival.peer, Taken(client, arrival.move))

    def on_passed(self, peer: str, passed: Passed) -> None:
        coming = self._of(peer, passed)
        if coming is None:
            return
        for event, before in zip(passed.events, passed.befores, strict=True):
            self._take(passed.client, coming, Load(event, before, ()))
        coming.over = coming.over or passed.last

    def on_withdraw(self, peer: str, withdraw: Withdraw) -> None:
        super().on_withdraw(peer, withdraw)
        if (coming := self._of(peer, withdraw)) is not None:
            coming.over = True  # its client has come for it; nothing more is passed on

    def _of(self, peer: str, message: Lasts | Passed | Withdraw) -> _Coming | None:
        coming = self._coming.get(message.client)
        return coming if coming is not None and coming.peer == peer and coming.move == message.move else None

    # --- events

    def sift(self, event: Event, sender: str, match: Match) -> bool:
        return True  # what is for a session that comes was taken out before

    def see(self, load: Load) -> None:
        """An event that has come by a tree."""
        topic, copy = load.event.topic, Load(load.event, load.before, ())  # nobody else has to wait for what waits here
        for client, coming in self._coming.items():
            if topic in coming.topics:
                self._take(client, coming, copy)

    def sift_load(self, load: Load, matches: tuple[Match, ...]) -> tuple[Match, ...]:
        """The matches that are to be delivered now; the others were seen before, and wait or have been delivered."""
        if self._ahead:
            matches = tuple(each for each in matches if not self._has_had(load.event, each[0]))
        if not self._coming:
            return matches
        return tuple(each for each in matches if not self._merges(each[0], load.event.topic))

    def _merges(self, client: str, topic: str) -> bool:
        return client in self._coming and topic in self._coming[client].topics

    def _has_had(self, event: Event, client: str) -> bool:
        """It came to the old broker, and was passed on, long before it has come here."""
        ahead, line = self._ahead.get(client, {}), (event.source, event.topic)
        if line not in ahead:
            return False
        if event.seq <= ahead[line]:
            return True
        del ahead[line]
        if not ahead:
            del self._ahead[client]
        return False

    def _take(self, client: str, coming: _Coming, load: Load) -> None:
        if coming.order is None:
            coming.held.append(load)
        else:
            self._deliver(client, coming.order.arrive(load))

    def _deliver(self, client: str, loads: Iterable[Load]) -> None:
        for load in loads:
            wanted = [each for each in self.routing.table.of(client_hop(client)) if each.matches(load.event)]
            if wanted:
                self.turn.effects.append(Deliver(load.event, ((client, tuple(wanted)),)))

    # --- ends

    def claimed(self, client: str) -> None:
        self._admit(client)
        super().claimed(client)

    def _admit(self, client: str) -> None:
        if client in self.of and self.of[client].here:
            self.turn.effects.append(Admit(client))
        self._orphans.pop(client, None)

    def ended(self, client: str) -> None:
        self._admit(client)
        super().ended(client)
        self._drop(client)

    def gone(self, client: str) -> None:
        """It has moved on."""
        self._drop(client)

    def _drop(self, client: str) -> None:
        self._coming.pop(client, None)
        self._ahead.pop(client, None)
        self._orphans.pop(client, None)

    def _forget(self, client: str) -> None:
        self._drop(client)
        super()._forget(client)

    def lost(self, peer: str) -> None:
        """What is here stays, and its client may come: the old broker has died, or its client may still be there, and
        is told that its session stays. What it has not passed on comes by a tree, if at all."""
        super().lost(peer)
        for client in self.here_from(peer):
            self.turn.effects.append(Admit(client))
            self._orphans.setdefault(client, self._lease())
        for coming in self._coming.values():
            coming.over = coming.over or coming.peer == peer

    def met(self, peer: str) -> None:
        """It may not have heard that a session of its is here, or we not that the session is ours."""
        for client in self.here_from(peer):
            self._orphans.pop(client, None)
            self.send(peer, Taken(client, self.of[client].move))

    # --- times

    def deadline(self) -> float | None:
        orders = [each.order.deadline() for each in self._coming.values() if each.order is not None]
        ends = [at for each in self._coming.values() if each.over for at in (each.until, each.late)]
        due = [at for at in ends if at > self.turn.now]
        return earliest(super().deadline(), self._again_at, *orders, *due, *self._orphans.values())

    def end_of_turn(self) -> None:
        for client, coming in list(self._coming.items()):
            if coming.opening and all(self.station.shows(topic) for topic in coming.topics):
                coming.opening = False
                self.send(coming.peer, Opened(client, coming.move, "", retry=False, door=self.door, relay=self.relay))
            if coming.order is not None:
                self._go_on(client, coming, coming.order)
            elif len(coming.held) > self.options.held_events_max:
                self.of[client].expires = self.turn.now  # it has become too much to wait for
        self._say_again()
        for client in [client for client, at in self._orphans.items() if self.turn.now >= at]:
            del self._orphans[client]
            self.ours(client, self.of[client].peer)
        super().end_of_turn()

    def _go_on(self, client: str, coming: _Coming, order: Order) -> None:
        at = order.deadline()
        if at is not None and self.turn.now >= at:
            gaps = order.gaps
            self._deliver(client, order.due())
            self.gaps += order.gaps - gaps
        complete = self.turn.now >= coming.late or order.has_had(coming.before)
        if coming.over and complete and order.deadline() is None and self.turn.now >= coming.until:
            del self._coming[client]
            if ahead := order.ahead_of(self.station.order):
                self._ahead[client] = ahead

    def _say_again(self) -> None:
        waiting = [client for client, arrival in self.of.items() if arrival.here]
        if self._again_at is not None and self.turn.now >= self._again_at:
            for client in waiting:
                if (peer := self.of[client].peer) in self.station.links.of:
                    self.send(peer, Taken(client, self.of[client].move))
            self._again_at = self.turn.now + AGAIN_S
        if not waiting:
            self._again_at = None

    # --- looking in

    def lasts(self, client: str, topics: Collection[str]) -> list[LastLine]:
        """What it has had of each source and topic."""
        ahead = self._ahead.get(client, {})
        lines = {(source, topic): seq for source, topic, seq in self.station.order.lasts(topics)}
        lines |= {line: max(seq, lines.get(line, 0)) for line, seq in ahead.items() if line[1] in topics}
        return [(source, topic, seq) for (source, topic), seq in lines.items()]

    def merges(self, client: str) -> bool:
        """Whether events for it come on two ways."""
        return client in self._coming

    @property
    def busy(self) -> bool:
        return bool(self._coming)
