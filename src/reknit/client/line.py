"""One connection to a broker, without a loop: packets out, packets in.

Owns: the socket, the greeting, and the wait for an answer. Must not know: what is said over it.

For whoever has to decide himself when a packet is acknowledged, and keeps notes on a disk of how far he is: a client
library acknowledges by itself, and has forgotten all of it when its process dies.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from reknit.client.errors import ConnectFailed, Disconnected, NotAnswered
from reknit.mqtt.encode import encode
from reknit.mqtt.packets import V5_0, Connack, Connect, Disconnect, Packet, Pingreq
from reknit.mqtt.parser import Parser
from reknit.mqtt.properties import PropertyId, integer
from reknit.mqtt.reasons import ProtocolError

__all__ = ["Door", "Line"]

READ_BYTES = 64 * 1024
ANSWER_S_MAX = 30.0
KEEP_ALIVE_S = 60
WINDOW = 64
"""Packets under way, if the broker does not ask for fewer."""
FAILURE_MIN = 0x80


@dataclass(frozen=True, slots=True)
class Door:
    """Where, and as whom."""

    host: str
    port: int
    client_id: str
    username: str = ""
    password: str = ""
    session_s: int = 3600
    """How long the broker keeps the session when the connection is gone."""


class Line:
    """Inside ``with``: connected, in the session that was there before if there was one."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._parser = Parser(version=V5_0)
        self._socket: socket.socket
        self.resumed = False
        """Whether the broker still had the session."""
        self.window = WINDOW
        self.early: list[Packet] = []
        """What came with the greeting."""

    def __enter__(self) -> Self:
        door = self._door
        try:
            self._socket = socket.create_connection((door.host, door.port), ANSWER_S_MAX)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._greet()
        except (OSError, Disconnected, NotAnswered) as error:
            raise ConnectFailed(f"{door.host}:{door.port}: {error}") from error
        return self

    def _greet(self) -> None:
        door = self._door
        named = {"username": door.username, "password": door.password.encode()} if door.username else {}
        lasting = ((int(PropertyId.SESSION_EXPIRY), door.session_s),)
        greeting = Connect(door.client_id, V5_0, False, KEEP_ALIVE_S, properties=lasting, **named)  # type: ignore[arg-type]
        self.send([greeting])
        answers: list[Packet] = []
        while not answers:
            answers = self.receive(ANSWER_S_MAX)
        first = answers[0]
        if not isinstance(first, Connack) or first.reason >= FAILURE_MIN:
            raise Disconnected(f"the broker does not let {door.client_id} in ({getattr(first, 'reason', '')})")
        self.resumed = first.session_present
        self.window = min(WINDOW, integer(first.properties, PropertyId.RECEIVE_MAXIMUM, WINDOW))
        self.early = answers[1:]

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self.send([Disconnect()])
        self._socket.close()

    def send(self, packets: Iterable[Packet]) -> None:
        self._socket.sendall(b"".join(encode(packet, V5_0) for packet in packets))

    def ping(self) -> None:
        self.send([Pingreq()])

    def receive(self, within_s: float) -> list[Packet]:
        """What has come, one packet or more; none if nothing comes in time. ``Disconnected`` if the line is cut."""
        self._socket.settimeout(within_s)
        try:
            data = self._socket.recv(READ_BYTES)
        except TimeoutError:
            return []
        if not data:
            raise Disconnected("the connection was lost")
        try:
            packets = list(self._parser.feed(data))
        except ProtocolError as error:
            raise Disconnected(f"what came is no MQTT: {error}") from error
        for packet in packets:
            if isinstance(packet, Disconnect):
                raise Disconnected(f"the broker ended the connection ({packet.reason})")
        return packets
