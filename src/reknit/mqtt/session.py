"""A connection, and the session that may outlive it.

A connection is one socket's life: a parser, what is to be written, and the terms that its CONNECT settled. A session
belongs to a client identifier: subscriptions, the messages of QoS 1 that were sent and not acknowledged, and those
that wait. A session without a connection is *away*; it ends when its time is over.

Messages of QoS 1 go through two stages: *waiting*, a queue with a bound in messages and bytes, and *in flight*, a
window no larger than the client's receive maximum. An acknowledgement makes room in the window.

Owns: those states and their bounds. Must not know: packets on the wire, or the core.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import msgspec

from reknit.model.event import Event, EventId, event_bytes
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.parser import Parser
from reknit.mqtt.subscriptions import Subscriptions

__all__ = ["Connection", "Message", "Session"]

PACKET_IDS = 65_535


class Message(msgspec.Struct, frozen=True, gc=False):
    """One client's copy of an event, at QoS 1; at QoS 0 only where a client is on its way here."""

    event: Event
    identifiers: tuple[int, ...] = ()
    qos: int = 1


@dataclass(slots=True, eq=False)
class Connection:
    """One socket's life. ``session`` is there once a CONNECT was accepted."""

    conn: int
    parser: Parser
    heard: float
    """When bytes last came."""
    version: int = 0
    session: Session | None = None
    out: list[bytes] = field(default_factory=list)
    """What the next output will carry."""
    closing: bool = False
    paused: bool = False
    """Whether the shell said that the socket takes no more for now."""
    unanswered: int = 0
    """Messages of QoS 1 taken whose acknowledgements have not left yet."""
    silence_s_max: float = 0.0
    packet_bytes_max: int = 0
    """The client's limit; 0 for none."""
    receive_maximum: int = PACKET_IDS
    problem_information: bool = True
    """Whether the client wants to read reasons."""
    will: Event | None = None
    will_delay_s: int = 0
    withheld: bytes | None = None
    """What has come since the session went on its way to another broker; None as long as it is here."""


class Session:
    """What a client identifier stands for."""

    __slots__ = (
        "_moved_own",
        "_options",
        "_own",
        "_plain_waiting",
        "_waiting_bytes",
        "again",
        "client",
        "connection",
        "ends_at",
        "expected",
        "expiry_s",
        "inflight",
        "last_id",
        "plain",
        "subscriptions",
        "waiting",
        "will",
        "will_at",
    )

    def __init__(self, client: str, options: DoorOptions) -> None:
        self.client = client
        self.connection: Connection | None = None
        self.plain: Connection | None = None  # the connection, while a delivery at QoS 0 needs no second look
        self.expiry_s = 0
        self.ends_at = 0.0
        self.will: Event | None = None  # of a connection that is gone, due at `will_at`
        self.will_at = 0.0
        self.subscriptions = Subscriptions()
        self.inflight: dict[int, Message] = {}
        self.again: deque[int] = deque()  # in flight on a former connection, not yet repeated on this one
        self.waiting: deque[Message] = deque()
        self.expected = False  # it has moved here, and its client has not come yet
        self.last_id = 0
        self._options = options
        self._waiting_bytes = 0
        self._plain_waiting = 0  # of QoS 0
        self._own: dict[int, Event] = {}  # by identity: an event has no publisher's name
        self._moved_own: frozenset[EventId] = frozenset()  # published at another broker

    def settle(self) -> None:
        """Decide anew whether a delivery at QoS 0 needs a second look."""
        connection = self.connection
        fit = connection is not None and not connection.paused and not connection.packet_bytes_max
        self.plain = connection if fit and not self.subscriptions.special and not self._plain_waiting else None

    def wait(self, message: Message) -> bool:
        """Put a message behind all others; whether there was room."""
        size = event_bytes(message.event)
        options = self._options
        many = len(self.waiting) >= options.queue_messages_max and not self.expected
        if many or self._waiting_bytes + size > options.queue_bytes_max:
            return False
        self._put(message, size)
        return True

    def _put(self, message: Message, size: int) -> None:
        self.waiting.append(message)
        self._waiting_bytes += size
        self._plain_waiting += not message.qos

    @property
    def keeps_plain(self) -> bool:
        """Whether a message of QoS 0 has to wait: for the client, or for its like, which it must not overtake."""
        return self.expected or self._plain_waiting > 0

    def restore(self, inflight: dict[int, Message], waiting: list[Message], last_id: int, own: list[EventId]) -> None:
        """Begin as another door has left it."""
        self.inflight, self.last_id, self._moved_own = inflight, last_id, frozenset(own)
        for message in waiting:
            self._put(message, event_bytes(message.event))

    def own_ids(self) -> list[EventId]:
        return [*self._moved_own, *(event.id for event in self._own.values())][-self._options.own_events_max :]

    def resume(self, connection: Connection) -> None:
        """The client is here again: what was in flight is to be repeated, in its order."""
        self.connection = connection
        self.again = deque(self.inflight)
        self.will = None
        self.expected = False
        self.settle()

    def next_to_send(self) -> tuple[int, Message, bool] | None:
        """A packet identifier (0 at QoS 0), its message and whether it is repeated, if one more may be sent."""
        if not self.open:
            return None
        if self.again:
            ident = self.again.popleft()
            return ident, self.inflight[ident], True
        if not self.waiting:
            return None
        message = self.waiting.popleft()
        self._waiting_bytes -= event_bytes(message.event)
        if message.qos:
            return self.send(message), message, False
        self._plain_waiting -= 1
        if not self._plain_waiting:
            self.settle()
        return 0, message, False

    @property
    def open(self) -> bool:
        """Whether the client may be sent one more message of QoS 1 now."""
        connection = self.connection
        if connection is None or connection.paused:
            return False
        window = min(connection.receive_maximum, self._options.inflight_max)
        return len(self.inflight) - len(self.again) < window

    def send(self, message: Message) -> int:
        """Put a message in flight; its packet identifier."""
        ident = self.last_id
        while True:
            ident = ident % PACKET_IDS + 1
            if ident not in self.inflight:
                break
        self.last_id = ident
        self.inflight[ident] = message
        return ident

    def acknowledged(self, ident: int) -> bool:
        """The client has taken a message; whether there was one."""
        if self.inflight.pop(ident, None) is None:
            return False
        if ident in self.again:  # taken on a former connection, before it was repeated on this one
            self.again.remove(ident)
        return True

    def remember(self, events: list[Event]) -> None:
        """Keep events of this client's own, since one of its subscriptions may have to pass them by."""
        own = self._own
        for event in events:
            own[id(event)] = event
        while len(own) > self._options.own_events_max:
            del own[next(iter(own))]

    def is_own(self, event: Event) -> bool:
        return self._own.get(id(event)) is event or (bool(self._moved_own) and event.id in self._moved_own)
