"""A connection, and the session that may outlive it.

A connection is one socket's life: a parser, what is to be written, and the terms that its CONNECT settled. A session
belongs to a client identifier: subscriptions, the messages that were sent and not acknowledged, those that wait, and
the identifiers of messages of QoS 2 that came from the client and were not released by it yet. A session without a
connection is *away*; it ends when its time is over.

Messages of QoS 1 and 2 go through these stages. Only *in flight* and *released* count for the window, which is no
larger than the client's receive maximum.

    stage      what ends it                       what a new connection repeats
    ---------  ---------------------------------  ---------------------------------------------
    replayed   room in the window                 (retained messages, before all that waits)
    waiting    room in the window                 (a queue with a bound in messages and bytes)
    in flight  PUBACK at QoS 1, PUBREC at QoS 2   PUBLISH, marked as a repetition
    released   PUBCOMP                            PUBREL

Owns: those states and their bounds. Must not know: packets on the wire, or the core.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import msgspec

from reknit.core.homes.homes import Home
from reknit.model.event import Event, EventId, event_bytes
from reknit.mqtt.access import Grants
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.packets import Connect, Packet
from reknit.mqtt.parser import Parser
from reknit.mqtt.reasons import Reason
from reknit.mqtt.subscriptions import Subscriptions

__all__ = ["PACKET_IDS", "RELEASE", "Connection", "Message", "Question", "Session"]

PACKET_IDS = 65_535


class Message(msgspec.Struct, frozen=True, gc=False):
    """One client's copy of an event; at QoS 0 only where it is replayed, or a client is on its way here."""

    event: Event
    identifiers: tuple[int, ...] = ()
    qos: int = 1
    retain: bool = False


RELEASE = Message(Event(""), qos=2)
"""Stands for a message of QoS 2 that the client has, and that is to be released."""


class Question(msgspec.Struct, frozen=True, gc=False):
    """Is this the password of this user? Asked by the client on a connection."""

    conn: int
    user: str
    password: bytes


class Seek(msgspec.Struct, frozen=True, gc=False):
    """The session of the client on this connection is at another broker, which is to be asked to serve it there."""

    conn: int
    client: str
    user: str
    """Who it has proved to be."""
    home: Home
    said: bytes
    """All that has come on the connection so far."""


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
    aliases_in: dict[int, str] = field(default_factory=dict)
    """The client's numbers for topics."""
    aliases_out: dict[str, int] = field(default_factory=dict)
    """Our numbers for topics, which the client knows."""
    aliases_out_max: int = 0
    silence_s_max: float = 0.0
    packet_bytes_max: int = 0
    """The client's limit; 0 for none."""
    receive_maximum: int = PACKET_IDS
    problem_information: bool = True
    """Whether the client wants to read reasons."""
    will: Event | None = None
    will_delay_s: int = 0
    anonymous: bool = True
    """Whether a client may come without a name."""
    user: str = ""
    """Who it is, once that is proved."""
    by_password: bool = False
    """Whether a password has proved it, and not a certificate."""
    fault: Reason | None = None
    """Why it is not served, whoever it is."""
    asked: Connect | None = None
    """A CONNECT whose password is being checked, or whose session is being asked for elsewhere."""
    raw: bytearray = field(default_factory=bytearray)
    """All that has come before its CONNECT was accepted."""
    relayed: bool = False
    """Whether another broker serves its client through this connection."""
    early: list[Packet] = field(default_factory=list)
    """What has come behind it meanwhile."""
    early_bytes: int = 0
    """As much as that, without what came in one piece with it."""
    client: str = ""
    """Its identifier, once its CONNECT was accepted; also when the session has gone elsewhere."""
    farewell: str = ""
    """Why it ends; empty where the socket was just gone."""
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
        "dropped",
        "ends_at",
        "expected",
        "expiry_s",
        "grants",
        "inflight",
        "last_id",
        "plain",
        "received",
        "released",
        "replay",
        "subscriptions",
        "topics_open",
        "user",
        "waiting",
        "will",
        "will_at",
    )

    def __init__(self, client: str, options: DoorOptions) -> None:
        self.client = client
        self.connection: Connection | None = None
        self.plain: Connection | None = None  # the connection, while a delivery at QoS 0 needs no second look
        self.user = ""
        self.grants: Grants | None = None  # what it may do; None for everything
        self.topics_open: set[str] = set()  # topics to which it may certainly publish
        self.expiry_s = 0
        self.ends_at = 0.0
        self.will: Event | None = None  # of a connection that is gone, due at `will_at`
        self.will_at = 0.0
        self.subscriptions = Subscriptions()
        self.inflight: dict[int, Message] = {}
        self.released: dict[int, None] = {}
        self.received: dict[int, None] = {}  # of QoS 2, from the client, which has not released them
        self.again: deque[int] = deque()  # to be repeated: under way on a former connection, not yet on this one
        self.replay: deque[Message] = deque()
        self.waiting: deque[Message] = deque()
        self.expected = False  # it has moved here, and its client has not come yet
        self.last_id = 0
        self.dropped = 0  # for want of room, since the queue was last empty
        self._options = options
        self._waiting_bytes = 0
        self._plain_waiting = 0  # of QoS 0
        self._own: dict[int, Event] = {}  # by identity: an event has no publisher's name
        self._moved_own: frozenset[EventId] = frozenset()  # published at another broker

    def settle(self) -> None:
        """Decide anew whether a delivery at QoS 0 needs a second look."""
        connection = self.connection
        fit = connection is not None and not connection.paused and not connection.packet_bytes_max
        lone = self.grants is None and not self.subscriptions.special and not self._plain_waiting and not self.replay
        self.plain = connection if fit and lone and connection is not None and not connection.aliases_out_max else None

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
        return self.expected or self._plain_waiting > 0 or bool(self.replay)

    def play(self, message: Message) -> bool:
        """Put a retained message before all that waits, behind its like; whether there was room."""
        if len(self.replay) >= self._options.replay_messages_max:
            return False
        self.replay.append(message)
        self.plain = None
        return True

    def restore(self, inflight: dict[int, Message], waiting: list[Message], last_id: int, own: list[EventId]) -> None:
        """Begin as another door has left it."""
        self.inflight, self.last_id, self._moved_own = inflight, last_id, frozenset(own)
        for message in waiting:
            self._put(message, event_bytes(message.event))

    @property
    def busy(self) -> bool:
        """Whether anything is under way to the client, or waits for it."""
        return bool(self.inflight or self.released or self.replay or self.waiting)

    @property
    def queued(self) -> int:
        return len(self.inflight) + len(self.released) + len(self.replay) + len(self.waiting)

    def own_ids(self) -> list[EventId]:
        return [*self._moved_own, *(event.id for event in self._own.values())][-self._options.own_events_max :]

    def resume(self, connection: Connection) -> None:
        """The client is here again: what was under way is to be repeated, in its order."""
        self.connection = connection
        self.again = deque([*self.released, *self.inflight])
        self.will = None
        self.expected = False
        self.settle()

    def next_to_send(self) -> tuple[int, Message, bool] | None:
        """A packet identifier (0 at QoS 0), its message and whether it is repeated, if one more may be sent.

        The message is ``RELEASE`` where the client has it already.
        """
        if not self.open:
            return None
        if self.again:
            ident = self.again.popleft()
            return ident, self.inflight.get(ident, RELEASE), True
        if self.replay:
            message = self.replay.popleft()
            self.settle()
            return self.send(message) if message.qos else 0, message, False
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
        """Whether the client may be sent one more message of QoS 1 or 2 now."""
        connection = self.connection
        if connection is None or connection.paused:
            return False
        window = min(connection.receive_maximum, self._options.inflight_max)
        return len(self.inflight) + len(self.released) - len(self.again) < window

    def send(self, message: Message) -> int:
        """Put a message in flight; its packet identifier."""
        ident = self.last_id
        while True:
            ident = ident % PACKET_IDS + 1
            if ident not in self.inflight and ident not in self.released:
                break
        self.last_id = ident
        self.inflight[ident] = message
        return ident

    def withdraw(self, ident: int) -> None:
        """The client cannot be given this message; nothing has been written for it."""
        del self.inflight[ident]

    def acknowledged(self, ident: int) -> bool:
        """The client has taken a message of QoS 1, or refused one; whether there was one."""
        if self.inflight.pop(ident, None) is None:
            return False
        if ident in self.again:  # taken on a former connection, before it was repeated on this one
            self.again.remove(ident)
        return True

    def release(self, ident: int) -> bool:
        """The client has received a message of QoS 2; whether it is one that it was sent, now or before."""
        if (message := self.inflight.get(ident)) is not None and message.qos == 2:
            self.acknowledged(ident)
            self.released[ident] = None
        return ident in self.released

    def completed(self, ident: int) -> bool:
        """The client has released a message of QoS 2 on its side, too; whether there was one."""
        if ident not in self.released:
            return False
        del self.released[ident]
        if ident in self.again:
            self.again.remove(ident)
        return True

    def took(self, ident: int) -> None:
        """A message of QoS 2 has come from the client, under this identifier."""
        self.received[ident] = None

    def freed(self, ident: int) -> bool:
        """The client has released it; whether there was one."""
        return self.received.pop(ident, 0) is None

    def changed(self) -> None:
        """Something that seldom changes is another now: connection, will, expiry, subscriptions. See ``keeping``."""

    def ended(self) -> None:
        """It is over. See ``keeping``."""

    def remember(self, events: list[Event]) -> None:
        """Keep events of this client's own, since one of its subscriptions may have to pass them by."""
        own = self._own
        for event in events:
            own[id(event)] = event
        while len(own) > self._options.own_events_max:
            del own[next(iter(own))]

    def is_own(self, event: Event) -> bool:
        return self._own.get(id(event)) is event or (bool(self._moved_own) and event.id in self._moved_own)
