"""A publisher and a subscriber that outlive their broker: they come again after each crash, and know what they had.

Both speak MQTT 3.1.1 with sessions that last, over plain sockets, and keep the promises of a good client: what was not
acknowledged is sent again under its packet identifier; what came at QoS 2 is known until it is released.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator

__all__ = ["Publisher", "Subscriber", "Wire"]

READ_S_MAX = 10.0
RETRY_S = 0.01
CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP = 2, 3, 4, 5, 6, 7


def _packet(head: int, body: bytes) -> bytes:
    length, wire = len(body), bytes([head])
    while True:
        length, byte = length >> 7, length & 127
        wire += bytes([byte | (128 if length else 0)])
        if not length:
            return wire + body


def _text(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


class Wire:
    """One connection."""

    def __init__(self, port: int, client: str, *, clean: bool = False) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=READ_S_MAX)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        self._early: list[tuple[int, int, bytes]] = []
        try:
            self.present = self._connect(client, clean)
        except BaseException:
            self.socket.close()
            raise

    def _connect(self, client: str, clean: bool) -> bool:
        """Whether there is a session."""
        flags = bytes([2 if clean else 0])
        self.socket.sendall(_packet(0x10, b"\0\4MQTT\4" + flags + struct.pack(">H", 0) + _text(client)))
        (kind, _, body), *self._early = self.read()
        if kind != CONNACK or body[1]:
            raise ConnectionError(f"refused: {body!r}")
        return body[0] == 1

    def read(self) -> list[tuple[int, int, bytes]]:
        """What one read brings, at least one packet: kind, flags, body."""
        found, self._early = self._early, []
        while not found and not (found := list(self._parse())):
            data = self.socket.recv(1 << 18)
            if not data:
                raise ConnectionError("closed")
            self._buffer += data
        return found

    def _parse(self) -> Iterator[tuple[int, int, bytes]]:
        data, at = self._buffer, 0
        while at + 2 <= len(data):
            length, place, shift = 0, at + 1, 0
            while place < len(data):
                length |= (data[place] & 127) << shift
                shift += 7
                place += 1
                if not data[place - 1] & 128:
                    break
            else:
                break
            if place + length > len(data):
                break
            yield data[at] >> 4, data[at] & 15, data[place : place + length]
            at = place + length
        self._buffer = data[at:]

    def close(self) -> None:
        self.socket.close()


class _Client(threading.Thread):
    """Goes on over any number of connections until it is told to end."""

    def __init__(self, port: int, client: str) -> None:
        super().__init__(daemon=True)
        self.port = port
        self.client = client
        self.ending = threading.Event()
        self.connections = 0
        self.lost = 0
        """Sessions that were not there any more."""
        self.failure = ""

    def run(self) -> None:
        while not self.ending.is_set():
            try:
                self._one_connection()
            except OSError:
                time.sleep(RETRY_S)
            except Exception as error:
                self.failure = repr(error)
                raise

    def _one_connection(self) -> None:
        wire = Wire(self.port, self.client)
        with contextlib.closing(wire):
            if self.connections and not wire.present:
                self.lost += 1
            self.connections += 1
            self.serve(wire)

    def serve(self, wire: Wire) -> None:
        raise NotImplementedError

    def end(self) -> None:
        self.ending.set()
        self.join(READ_S_MAX * 2)


class Publisher(_Client):
    """Publishes numbers, and knows which of them were acknowledged."""

    def __init__(self, port: int, client: str, topic: str, qos: int, window: int = 100, size: int = 0) -> None:
        super().__init__(port, client)
        self._topic = _text(topic)
        self._qos = qos
        self._window = window
        self._size = size
        self._next = 0
        self._ident = 0
        self._open: dict[int, int] = {}  # packet identifiers without an acknowledgement, and their numbers
        self._release: dict[int, int] = {}  # those of QoS 2 that were taken, and are not completed
        self.acknowledged: list[int] = []
        """In the order of the acknowledgements that make the broker answerable: PUBACK, or PUBREC."""
        self.paused = threading.Event()

    def _publish(self, ident: int, number: int, again: bool) -> bytes:
        payload = str(number).encode().ljust(self._size)
        return _packet(0x30 | self._qos << 1 | 8 * again, self._topic + struct.pack(">H", ident) + payload)

    def _fill(self) -> bytes:
        wire = []
        while len(self._open) + len(self._release) < self._window and not self.paused.is_set():
            self._ident = self._ident % 65_535 + 1
            if self._ident in self._open or self._ident in self._release:
                continue
            self._open[self._ident] = self._next
            wire.append(self._publish(self._ident, self._next, False))
            self._next += 1
        return b"".join(wire)

    def serve(self, wire: Wire) -> None:
        again = [_packet(0x62, struct.pack(">H", ident)) for ident in self._release]
        again += [self._publish(ident, number, True) for ident, number in self._open.items()]
        wire.socket.sendall(b"".join(again))
        while not self.ending.is_set():
            if data := self._fill():
                wire.socket.sendall(data)
            if not self._open and not self._release:
                time.sleep(RETRY_S)
                continue
            answers = b"".join(self._on_answer(kind, struct.unpack(">H", body[:2])[0]) for kind, _, body in wire.read())
            if answers:
                wire.socket.sendall(answers)

    def _on_answer(self, kind: int, ident: int) -> bytes:
        if kind == PUBCOMP:
            self._release.pop(ident, None)
            return b""
        number = self._open.pop(ident, None)
        if number is not None:
            self.acknowledged.append(number)
        if kind == PUBREC:
            self._release[ident] = number if number is not None else self._release.get(ident, -1)
            return _packet(0x62, struct.pack(">H", ident))
        return b""

    @property
    def settled(self) -> bool:
        return not self._open and not self._release


class Subscriber(_Client):
    """Receives numbers, and keeps the promises of QoS 1 and 2."""

    def __init__(self, port: int, client: str, topic: str, qos: int) -> None:
        super().__init__(port, client)
        self._topic = topic
        self._qos = qos
        self._known: set[int] = set()  # of QoS 2, not released
        self.received: list[int] = []
        self.subscribed = threading.Event()
        self.first_at = 0.0
        """When the first message of the current connection came."""

    def serve(self, wire: Wire) -> None:
        self.first_at = 0.0
        if not wire.present:
            wire.socket.sendall(_packet(0x82, b"\0\1" + _text(self._topic) + bytes([self._qos])))
        else:
            self.subscribed.set()
        wire.socket.settimeout(0.2)
        while not self.ending.is_set():
            try:
                answers = b"".join(self._on_packet(*each) for each in wire.read())
            except TimeoutError:
                continue
            if answers:
                wire.socket.sendall(answers)

    def _on_packet(self, kind: int, flags: int, body: bytes) -> bytes:
        if kind == PUBLISH:
            return self._on_publish(flags, body)
        if kind == PUBREL:
            self._known.discard(struct.unpack(">H", body[:2])[0])
            return _packet(0x70, body[:2])
        self.subscribed.set()
        return b""

    def _on_publish(self, flags: int, body: bytes) -> bytes:
        place = 2 + struct.unpack(">H", body[:2])[0]
        ident, qos = body[place : place + 2], flags >> 1 & 3
        number, key = int(body[place + 2 :]), struct.unpack(">H", ident)[0]
        if qos == 1 or key not in self._known:
            self.received.append(number)
            self.first_at = self.first_at or time.monotonic()
        if qos == 1:
            return _packet(0x40, ident)
        self._known.add(key)
        return _packet(0x50, ident)
