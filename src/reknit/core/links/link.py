"""One end of the channel to one neighbour.

A *link* outlives its connections. Its *session* numbers the frames of each direction from 1; both ends keep their
numbers while connections come and go, so that a reconnect sends exactly what is missing. An end that has lost its
memory knows no session: then a new one begins, the events that were not settled are sent again under new numbers, and
the layers above are told (``renew``) because what they had said has to be said anew.

Two acknowledgements travel back. *received*: the far end has handled the frame; it drives retransmission and shows
progress. *settled*: the far end's next hops have taken over (see ``custody``); only then the frame leaves the outbox.
Frames settle in their order, as a rule. But where links move, frames may come to wait for each other round a circle if
each waits for those before it too; so what is settled behind a frame that is not, for a while, is reported by itself.

Liveness counts progress, not bytes: a far end that is silent is given up, and so is one that keeps talking but does
not handle what it is sent.

Owns: numbers, the outbox, what is due. Must not know: what messages mean, who else is a neighbour.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from reknit.core.io import Close, Send
from reknit.core.links.custody import Arrival, Custody, settle
from reknit.core.links.options import LinkOptions
from reknit.core.links.outgoing import EVENT_BYTES_MAX, Outgoing, Whereabouts, owed_events
from reknit.core.turn import Turn
from reknit.model.event import Event, event_bytes
from reknit.trace.records import Kind
from reknit.wire.codec import encode
from reknit.wire.messages import LASTING, Ack, Data, Events, Farewell, Hello, Loose, Message

__all__ = ["Arrival", "Link"]


class Link:
    lasting: tuple[type, ...] = LASTING

    def __init__(self, turn: Turn, peer: str, address: str, options: LinkOptions) -> None:
        self.turn, self.peer = turn, peer
        self.address = address  # "" where only the far end dials
        self.options = options
        self.conn: int | None = None
        self.greeted = False  # the far end has said who it is on this connection
        self.hello: Hello | None = None  # what it said
        self.leaving = False  # it is being given up: what is under way still goes through
        self.sends_in_line = self.takes_in_line = False  # whether events must not overtake other words, if they could
        self.tentative = False  # it is there, but does not belong to the tree yet
        self.awaited = False  # the far end may not know of it yet; it dials, we do not
        self.session = self.peer_incarnation = 0
        self.dropped = 0
        self.away_since: float | None = turn.now  # None: a connection carries it
        # outgoing
        self._fresh: list[Message] = []  # this turn's, not yet in a frame
        self._fresh_events: list[Event] | None = None  # the open end of _fresh
        self._fresh_custodies: list[Custody] = []
        self._outbox: deque[Outgoing] = deque()
        self._fresh_size = self._outbox_bytes = 0
        self._whereabouts: Whereabouts | None = None
        self._next_seq = 1
        self._sent = self._peer_received = self._peer_settled = 0  # the last frame sent on this connection; of all
        # incoming
        self.received = self._settled = 0
        self._unsettled: deque[Custody] = deque()
        self._beyond: dict[int, None] = {}  # settled before older ones
        self._early: dict[int, Data] = {}
        # times
        self._heard_at = self._spoke_at = self._resent_at = self._up_at = 0.0
        self._waiting_since: float | None = None
        self._ack_at: float | None = None
        self._ack_frames = 0
        self._overdue_at: float | None = None
        self.dial_at: float | None = None
        self._dial_wait = 0.0

    # --- connections

    def bind(self, conn: int) -> None:
        if self.conn is not None and self.conn != conn:
            self.turn.effects.append(Close(self.conn, "replaced by a newer connection"))
        self.conn, self.greeted, self.hello = conn, False, None
        self._heard_at = self._spoke_at = self._resent_at = self.turn.now
        self.dial_at = None

    def resume(self, hello: Hello) -> None:
        """Both ends know the session: send what the far end has not received."""
        self._up(hello)
        self._acknowledged(hello.received, self._peer_settled)
        self._sent = self._peer_received
        self._transmit_rest()

    def renew(self, hello: Hello, session: int) -> None:
        """Begin a new session: what lasts and is not settled goes again; those above say all else anew."""
        self.session = session
        self.received = self._settled = self._peer_received = self._peer_settled = self._sent = 0
        self._unsettled.clear()
        self._beyond.clear()
        self._overdue_at = None
        self._early.clear()
        kept, self._outbox, self._whereabouts = self._outbox, deque(), None
        self._outbox_bytes, self._next_seq = 0, 1
        for item in kept:
            lasting: list[Message] = [message for message in item.messages if isinstance(message, self.lasting)]
            if lasting:
                self._enqueue(lasting, item.custodies, item.size).thirds = item.thirds
            else:
                self._discharge(item.custodies)
        self._up(hello)
        self._transmit_rest()

    def _up(self, hello: Hello) -> None:
        self.greeted, self.hello, self.away_since = True, hello, None
        self.peer_incarnation = hello.incarnation
        self._up_at = self.turn.now
        self._waiting_since = None
        self.turn.tell(Kind.LINK_UP, peer=self.peer)

    def lost(self, reason: str) -> None:
        """The connection is gone; the link is not."""
        if self.greeted:
            self.turn.tell(Kind.LINK_DOWN, peer=self.peer, detail=reason)
            if self.turn.now > self._up_at + self.options.dial_s_max:
                self._dial_wait = 0.0  # it was of some use; one that is cut at once, again and again, is not
        self.conn, self.greeted = None, False
        self.away_since = self.turn.now if self.away_since is None else self.away_since
        self._waiting_since = None
        self._ack_at, self._ack_frames = None, 0
        self._dial_wait = min(max(self._dial_wait * 2, self.options.dial_s_min), self.options.dial_s_max)
        self.dial_later()

    def dial_later(self) -> None:
        """Both ends may know where; the greater name dials first, and the other seldom needs to."""
        if self.address and not self.awaited:
            patience = self.options.greeting_s_max if self.turn.node < self.peer else 0.0
            self.dial_at = self.turn.now + self._dial_wait + patience

    def give_up_connection(self, reason: str) -> None:
        if self.conn is not None:
            self.turn.effects.append(Send(self.conn, encode(Farewell(reason))))
            self.turn.effects.append(Close(self.conn, reason))
        self.lost(reason)

    def end(self) -> None:
        """The link itself is gone: acknowledge what came; nobody will settle what waits in the outbox."""
        if self.greeted:
            self._send_ack()
        while self._outbox:
            self._discharge(self._outbox.popleft().custodies)
        self._discharge(self._fresh_custodies)
        self._outbox_bytes = 0

    # --- outgoing

    def send(self, message: Message, custody: Custody | None = None) -> int:
        """Its size. ``custody``: what the message passes on; its frame holds it, as one with events does."""
        size = len(encode(message))
        self._append(message, size)
        if custody is not None:
            self._hold(custody)
        return size

    def _append(self, message: Message, size: int) -> None:
        if self._fresh_size + size > self.options.frame_bytes_target:
            self.flush()
        self._fresh.append(message)
        self._fresh_events = None
        self._fresh_size += size

    def send_loosely(self, message: Message) -> None:
        """Gossip: it may be lost where events may be."""
        self.send(message)

    def send_steered(self, steered: Message, custodies: list[Custody], size: int) -> None:
        """Events of a swap, or on a ring, collected by whoever steers them, within the bounds that ``takes`` knows."""
        self._append(steered, size)
        for custody in custodies:
            self._hold(custody)

    def send_event(self, event: Event, custody: Custody) -> bool:
        """The frame that carries the event holds its custody.

        A frame holds nothing else: events only ever move away from their source, so on a tree no two links wait for
        each other to settle. Were a frame to hold whatever its turn has caused, they would. False if it was dropped.
        """
        size = event_bytes(event)
        if not self.takes(event, size):
            return False
        if self._fresh_size + size > self.options.frame_bytes_target:
            self.flush()
        if self._fresh_events is None:
            self._fresh_events = []
            self._fresh.append(Events(self._fresh_events))
        self._fresh_events.append(event)
        self._fresh_size += size
        if not self._fresh_custodies or self._fresh_custodies[-1] is not custody:
            self._hold(custody)
        return True

    def takes(self, event: Event, size: int, waiting: int = 0) -> bool:
        """Is there room for it, with so many bytes ``waiting`` to be sent besides? If not, it is dropped."""
        if self._outbox_bytes + self._fresh_size + waiting + size > self.options.outbox_bytes_max:
            return self.drop(event, "outbox full")
        if size > EVENT_BYTES_MAX:
            return self.drop(event, "too large for a frame")
        return True

    def _hold(self, custody: Custody) -> None:
        self._fresh_custodies.append(custody)
        custody.pending += 1

    def drop(self, event: Event, why: str) -> bool:
        self.dropped += 1
        self.turn.see(Kind.DROPPED, peer=self.peer, event=event, detail=why)
        return False

    def flush(self) -> None:
        """Put this turn's messages into a frame, and send it if there is a connection."""
        if self._fresh:
            item = self._enqueue(self._fresh, self._fresh_custodies, self._fresh_size)
            self._fresh, self._fresh_events, self._fresh_size, self._fresh_custodies = [], None, 0, []
            if self.greeted and self._sent == item.seq - 1:
                self._transmit(item)
        elif self._ack_frames >= self.options.ack_frames_max and self.greeted:
            self._send_ack()

    def share(self, third: str) -> None:
        """Whatever is not settled by now was to reach ``third``, too, and from now on nothing does on this way."""
        self.flush()
        for item in self._outbox:
            item.thirds = (*item.thirds, third)

    def owed_to(self, third: str) -> list[tuple[Event, list[Custody]]]:
        return owed_events(self._outbox, third)

    def _enqueue(self, messages: list[Message], custodies: list[Custody], size: int) -> Outgoing:
        item = Outgoing(self._next_seq, messages, custodies, size)
        self._next_seq += 1
        self._outbox.append(item)
        self._outbox_bytes += size
        if self._whereabouts is not None:
            self._whereabouts.add(item)
        return item

    def entrust(self, event: Event, sender: str, custody: Custody) -> None:
        """If the event is on its way to the far end, and not settled, this custody waits for it, too."""
        self.flush()
        self._whereabouts = self._whereabouts or Whereabouts(self._outbox)
        if (item := self._whereabouts.find(event.id)) is not None and not item.outlives(event, sender):
            item.custodies.append(custody)
            custody.pending += 1

    def _transmit(self, item: Outgoing) -> None:
        assert self.conn is not None
        frame = Data(self.session, item.seq, self.received, self._settled, item.messages)
        self.turn.effects.append(Send(self.conn, encode(frame)))
        self._sent = max(self._sent, item.seq)
        self._spoke_at, self._ack_at, self._ack_frames = self.turn.now, None, 0
        if self._waiting_since is None:
            self._waiting_since = self._resent_at = self.turn.now

    def _transmit_rest(self) -> None:
        for item in list(self._outbox):
            if item.seq > self._sent:
                self._transmit(item)

    def _send_ack(self) -> None:
        assert self.conn is not None
        self.turn.effects.append(Send(self.conn, encode(Ack(self.session, self.received, self._settled))))
        self._spoke_at = self.turn.now
        self._ack_at, self._ack_frames = None, 0

    # --- incoming

    def heard(self) -> None:
        self._heard_at = self.turn.now

    def take_ack(self, ack: Ack | Data) -> None:
        if ack.session == self.session:
            self._acknowledged(ack.received, ack.settled)
            if isinstance(ack, Ack) and ack.beyond:
                self._settled_beyond(ack.beyond)

    def _settled_beyond(self, frames: list[int]) -> None:
        for seq in frames:
            place = seq - self._outbox[0].seq if self._outbox else -1
            if 0 <= place < len(self._outbox) and seq <= self._peer_received:
                item = self._outbox[place]
                item.settled = True
                self._outbox_bytes -= item.size
                custodies, item.custodies, item.messages, item.size = item.custodies, [], [], 0
                self._discharge(custodies)

    def _acknowledged(self, received: int, settled: int) -> None:
        received = min(received, self._next_seq - 1)
        if received > self._peer_received:
            self._peer_received, self._dial_wait = received, 0.0
            self._waiting_since = self.turn.now if self._sent > received else None
        if settled > self._peer_settled:
            self._peer_settled = min(settled, self._peer_received)
            while self._outbox and self._outbox[0].seq <= self._peer_settled:
                item = self._outbox.popleft()
                item.settled = True
                self._outbox_bytes -= item.size
                self._discharge(item.custodies)
            if not self._outbox:
                self._whereabouts = None

    def take_data(self, data: Data | Loose) -> Iterator[Arrival]:
        """The frames that are next in line now, in their order; of what has no number, nobody waits for a word."""
        self.turn.says = data.messages
        if isinstance(data, Data):
            self.take_ack(data)
        if data.session != self.session:
            return
        if isinstance(data, Loose):
            yield Arrival(self.peer, data.messages, Custody(None, 0, []))
            return
        self._want_ack()
        if data.seq > self.received + 1:
            if self.options.datagrams and len(self._early) < self.options.reorder_frames_max:
                self._early[data.seq] = data
            return
        following: Data | None = data if data.seq == self.received + 1 else None
        while following is not None:
            self.received = following.seq
            custody = Custody(self, self.session, [], following.seq)
            self._unsettled.append(custody)
            yield Arrival(self.peer, following.messages, custody)
            following = self._early.pop(self.received + 1, None)

    def _want_ack(self) -> None:
        self._ack_frames += 1
        self._ack_at = self.turn.now + self.options.ack_delay_s if self._ack_at is None else self._ack_at

    # --- custody

    def _discharge(self, custodies: list[Custody]) -> None:
        for custody in custodies:
            custody.pending -= 1
            if custody.pending == 0:
                settle(custody, self.turn)

    def advance_settled(self, custody: Custody) -> None:
        """A frame of the far end is settled; it hears of that in order, or late."""
        if custody.session != self.session:
            return
        if custody is not self._unsettled[0]:
            self._beyond[custody.seq] = None
            if self._overdue_at is None:
                self._overdue_at = self.turn.now + self.options.overdue_s
            return
        while self._unsettled and self._unsettled[0].pending == 0:
            self._settled = self._unsettled.popleft().seq
            if self._beyond:
                self._beyond.pop(self._settled, None)
        if not self._beyond:
            self._overdue_at = None
        if self._ack_at is None and self.greeted:
            self._ack_at = self.turn.now + self.options.ack_delay_s

    # --- times

    def deadline(self) -> float | None:
        if self.conn is None:
            return self.dial_at
        options = self.options
        if not self.greeted:
            again = [self._resent_at + options.retransmit_s] if options.datagrams else []
            return min([self._heard_at + options.greeting_s_max, *again])
        at, silent_at = self._spoke_at + options.heartbeat_s, self._heard_at + options.silence_s_max
        if silent_at < at:
            at = silent_at
        if self._ack_at is not None and self._ack_at < at:
            at = self._ack_at
        if self._overdue_at is not None and self._overdue_at < at:
            at = self._overdue_at
        if self._waiting_since is not None:
            at = min(at, self._waiting_since + options.progress_s_max)
            if options.datagrams:
                at = min(at, self._resent_at + options.retransmit_s)
        return at

    def due(self) -> None:
        """Whatever is due by now, but dialling: that is for whoever knows the connections."""
        now, options = self.turn.now, self.options
        if self.conn is None:
            return
        if not self.greeted:
            if now >= self._heard_at + options.greeting_s_max:
                self.give_up_connection("no greeting")
            return
        if now >= self._heard_at + options.silence_s_max:
            self.give_up_connection(f"silent for {options.silence_s_max:g} s")
        elif self._waiting_since is not None and now >= self._waiting_since + options.progress_s_max:
            why = f"took frames, handled none for {options.progress_s_max:g} s"
            self.turn.tell(Kind.LINK_STALLED, peer=self.peer, detail=why)
            self.give_up_connection(why)
        else:
            self._due_output(now)

    def _due_output(self, now: float) -> None:
        options = self.options
        if options.datagrams and self._waiting_since is not None and now >= self._resent_at + options.retransmit_s:
            self._retransmit()
        if (self._ack_at is not None and now >= self._ack_at) or now >= self._spoke_at + options.heartbeat_s:
            self._send_ack()
        if self._overdue_at is not None and now >= self._overdue_at:
            self._report_beyond()

    def _report_beyond(self) -> None:
        """Again and again, as long as the older frame is not settled: a report may be lost."""
        assert self.conn is not None
        frames, most = list(self._beyond), self.options.overdue_frames_max
        self._beyond = dict.fromkeys(frames[most:] + frames[:most])  # the others have their turn next time
        ack = Ack(self.session, self.received, self._settled, frames[:most])
        self.turn.effects.append(Send(self.conn, encode(ack)))
        self._spoke_at, self._overdue_at = self.turn.now, self.turn.now + self.options.overdue_s * 4

    def _retransmit(self) -> None:
        self._resent_at = self.turn.now
        missing = (item for item in list(self._outbox) if self._peer_received < item.seq <= self._sent)
        for _, item in zip(range(self.options.window_frames), missing, strict=False):
            self._transmit(item)

    def greeting_again(self) -> bool:
        """On datagrams: is it time to repeat our greeting?"""
        if self.greeted or not self.options.datagrams or self.turn.now < self._resent_at + self.options.retransmit_s:
            return False
        self._resent_at = self.turn.now
        return True

    # --- looking in

    @property
    def idle(self) -> bool:
        """The far end has settled all that it was sent."""
        return not self._outbox and not self._fresh

    @property
    def empty(self) -> bool:
        return self.idle and not self._unsettled

    @property
    def outbox_bytes(self) -> int:
        return self._outbox_bytes

    @property
    def everything_received(self) -> bool:
        return not self._fresh and self._peer_received == self._next_seq - 1
