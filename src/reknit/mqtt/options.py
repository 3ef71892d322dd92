"""What an operator may set about the door, what it counts, and what it hands to the shell.

Owns: every bound of the door, by name. Must not know: how a bound is kept.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import msgspec

from reknit.model.topic import TOPIC_BYTES_MAX, TOPIC_LEVELS_MAX
from reknit.mqtt.parser import FIRST_PACKET_BYTES_MAX, PACKET_BYTES_MAX

__all__ = ["DoorCounters", "DoorOptions", "Output"]

# What the protocol, or the rest of the broker, sets as the outermost bound.
_LARGEST = {
    "packet_bytes_max": 268_435_455 + 5,
    "first_packet_bytes_max": 268_435_455 + 5,
    "client_id_bytes_max": 65_535,
    "session_expiry_s_max": 0xFFFF_FFFE,
    "topic_bytes_max": TOPIC_BYTES_MAX,
    "topic_levels_max": TOPIC_LEVELS_MAX,
    "inflight_max": 65_535,
    "receive_maximum": 65_535,
}
_LARGEST_FROM_0 = {"topic_aliases_max": 65_535, "topic_aliases_out_max": 65_535, "keep_alive_s_max": 65_535}


@dataclass(frozen=True, slots=True)
class DoorOptions:
    """The bounds of the door. Reaching one is answered with a reason code or counted, never silent."""

    packet_bytes_max: int = PACKET_BYTES_MAX
    first_packet_bytes_max: int = FIRST_PACKET_BYTES_MAX
    connect_s_max: float = 5.0
    """How long a connection may stay without a CONNECT."""
    client_id_bytes_max: int = 256
    sessions_max: int = 10_000
    """Sessions with and without a connection."""
    session_expiry_s_max: int = 86_400
    """How long a session outlives its connection at most, and does in 3.1.1."""
    topic_bytes_max: int = TOPIC_BYTES_MAX
    topic_levels_max: int = TOPIC_LEVELS_MAX
    filters_max: int = 1000
    """Subscriptions of one client."""
    queue_messages_max: int = 1000
    """Messages of QoS 1 and 2 that wait for one client."""
    queue_bytes_max: int = 8 * 1024 * 1024
    inflight_max: int = 1000
    """Messages of QoS 1 and 2 that one client has not acknowledged; the client's receive maximum may be smaller."""
    receive_maximum: int = 20
    """Messages of QoS 1 and 2 that a client of MQTT 5 may have under way without the last acknowledgement."""
    topic_aliases_max: int = 16
    """Topics for which a client of MQTT 5 may use a number."""
    topic_aliases_out_max: int = 0
    """Topics for which a client that allows it is sent a number; 0 for none."""
    keep_alive_s_max: int = 0
    """A client that wants a longer interval, or none, is told this one (MQTT 5); 0: every client chooses itself."""
    retained_messages_max: int = 100_000
    retained_bytes_max: int = 256 * 1024 * 1024
    """Retained messages of all topics; beyond either bound a new topic is refused."""
    replay_messages_max: int = 100_000
    """Retained messages that wait for one client that has just subscribed."""
    response_information: str = ""
    """What a client that asks for response information is told to begin its response topics with."""
    own_events_max: int = 1000
    """A client's own events that are remembered for the sake of its no-local subscriptions."""
    export_s_max: float = 0.5
    """How long a session that is to move waits for acknowledgements of what its client has been sent."""
    arrival_s_max: float = 60.0
    """How long a session that has moved here waits for its client at least, and keeps messages of QoS 0 for it."""
    unique_ids: bool = True
    """Whether a client has one session in the whole network: at another broker it is served by the one that has it."""
    home_s_max: float = 2.0
    """How long a client that comes to another broker waits for the one that has its session; then it gets 0x89."""
    home_lost_s: float = 30.0
    """If the one that has the session is out of reach for so long, the client begins a new one where it comes."""
    wildcards: bool = True
    """Whether a filter may have wildcards; if not, such a one is answered with 0xA2. Never on a ring."""
    refused_filters: tuple[str, ...] = ()
    """Filters to which nobody may subscribe, word for word; the answer is 0x80."""
    sys_interval_s: float = 10.0
    """How often what the broker says of itself under ``$SYS`` is brought up to date; 0: there is no ``$SYS``."""
    json_attributes: bool = False
    """Whether the top-level scalars of a JSON payload are attributes of the event."""

    def __post_init__(self) -> None:
        for name, high in _LARGEST.items():
            value = getattr(self, name)
            if not 1 <= value <= high:
                raise ValueError(f"{name} must lie between 1 and {high}, not at {value}")
        for name, high in _LARGEST_FROM_0.items():
            value = getattr(self, name)
            if not 0 <= value <= high:
                raise ValueError(f"{name} must lie between 0 and {high}, not at {value}")


@dataclass(slots=True)
class DoorCounters:
    """What the door has seen. Packets are counted by type, refusals by the name of their reason, drops by cause."""

    received: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    published: list[int] = field(default_factory=lambda: [0, 0, 0])
    """PUBLISHes that came, by QoS."""
    delivered: list[int] = field(default_factory=lambda: [0, 0, 0])
    """PUBLISHes that were written, by QoS."""
    bytes_received: int = 0
    bytes_sent: int = 0
    accepted: int = 0
    connections: int = 0
    sessions: int = 0
    clients: int = 0
    """Those whose CONNECT was accepted, and that are connected."""
    clients_max: int = 0
    """The most that there have been at once."""
    expired: int = 0
    """Sessions that waited for their client until their time was over."""
    malformed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)


class Output(msgspec.Struct, frozen=True, gc=False):
    """For one socket: write ``data`` in one go, then close it if ``close``."""

    conn: int
    data: bytes
    close: bool
