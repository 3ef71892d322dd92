"""The load: MQTT 3.1.1 clients in one lean process, the same for every broker under test.

Owns: what is sent, how much is in flight, and what counts as received. Must not know: which broker it talks to.

A load generator that does more work per message than the broker measures itself. So this one never parses: every
message is the same bytes, sent from one prepared block as a slice as long as the window allows, and received
messages are counted by dividing bytes by the size of one. The window is closed: publishers may be ``window`` messages
ahead of what the slowest subscriber has received, so nothing has to be dropped anywhere, and whatever is missing at
the end was lost. Only at QoS 1 does it read packet ids, because it has to acknowledge them.

Run as a program it takes a ``Load`` as JSON and prints a ``Result`` as JSON.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

__all__ = ["Load", "LoadFailed", "Result", "offer"]

TOPIC = b"bench/load"
PAYLOAD_BYTES = 100
SILENCE_S_MAX = 3.0
"""A subscriber that gets nothing for so long, with messages in flight, will not get them."""
PROBE_S = 0.05
PROBES_MAX = 200
QUIET_S = 0.2
READ_BYTES_MAX = 1 << 18
PACKET_IDS = 20_000


class LoadFailed(Exception):
    """The broker refused, closed the connection or lost messages."""


@dataclass(frozen=True, slots=True)
class Load:
    publish_port: int
    subscribe_port: int
    publishers: int = 1
    subscribers: int = 1
    window: int = 2000
    qos: int = 0
    warm_s: float = 0.25
    measure_s: float = 1.0


@dataclass(frozen=True, slots=True)
class Result:
    """``rate`` is deliveries per second; ``sent`` and ``received`` are over the whole load."""

    rate: float
    sent: int
    received: int


# --- packets


def _text(value: bytes) -> bytes:
    return struct.pack("!H", len(value)) + value


def _packet(first: int, body: bytes) -> bytes:
    assert len(body) < 128, "one byte of length is all that is needed here"
    return bytes((first, len(body))) + body


def _connect(name: str) -> bytes:
    return _packet(0x10, _text(b"MQTT") + bytes((4, 2, 0, 0)) + _text(name.encode()))


def _subscribe(qos: int) -> bytes:
    return _packet(0x82, b"\x00\x01" + _text(TOPIC) + bytes((qos,)))


def _publish(packet_id: int) -> bytes:
    """A PUBLISH at QoS 0, or at QoS 1 if it has an id."""
    middle = struct.pack("!H", packet_id) if packet_id else b""
    return _packet(0x32 if packet_id else 0x30, _text(TOPIC) + middle + bytes(PAYLOAD_BYTES))


_DISCONNECT = b"\xe0\x00"
_ID_AT = 2 + 2 + len(TOPIC)


# --- clients


def _open(port: int, name: str, stack: contextlib.ExitStack) -> socket.socket:
    link = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=SILENCE_S_MAX))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _ask(link, _connect(name), b"\x20\x02\x00\x00")
    return link


def _ask(link: socket.socket, packet: bytes, answer: bytes) -> None:
    link.sendall(packet)
    found = b""
    while len(found) < len(answer) and (more := link.recv(len(answer) - len(found))):
        found += more
    if found != answer:
        raise LoadFailed(f"the broker answered {packet[:1].hex()} with {found.hex()!r}, not {answer.hex()!r}")


def _subscriber(load: Load, number: int, stack: contextlib.ExitStack) -> socket.socket:
    link = _open(load.subscribe_port, f"s{number}", stack)
    _ask(link, _subscribe(load.qos), b"\x90\x03\x00\x01" + bytes((load.qos,)))
    # A time limit inside the kernel: Python's own would cost a second system call for each read.
    link.settimeout(None)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(SILENCE_S_MAX), 0))
    return link


def _publisher(load: Load, number: int, stack: contextlib.ExitStack) -> socket.socket:
    link = _open(load.publish_port, f"p{number}", stack)
    link.setblocking(False)
    return link


def _await_route(publisher: socket.socket, subscribers: list[socket.socket], probe: bytes) -> None:
    """Publish now and then until every subscriber has got something, and all is quiet again."""
    waiting = {link.fileno() for link in subscribers}
    poller = select.poll()
    for link in subscribers:
        poller.register(link, select.POLLIN)
    for _ in range(PROBES_MAX):
        publisher.send(probe)
        waiting -= {number for number, _ in _drained(poller, subscribers, PROBE_S)}
        if not waiting:
            break
    else:
        raise LoadFailed(f"no route to {len(waiting)} of {len(subscribers)} subscribers")
    while _drained(poller, subscribers, QUIET_S):
        pass


def _drained(poller: select.poll, links: list[socket.socket], wait_s: float) -> list[tuple[int, int]]:
    ready = poller.poll(wait_s * 1000)
    by_number = {link.fileno(): link for link in links}
    for number, _ in ready:
        if not by_number[number].recv(READ_BYTES_MAX):
            raise LoadFailed("the broker closed the connection of a subscriber")
    return ready


# --- the load


class _Session:
    """One load under way. Bytes are counted, not messages; at the end they have to come out even."""

    def __init__(self, load: Load, stack: contextlib.ExitStack) -> None:
        self.load = load
        self.subscribers = [_subscriber(load, number, stack) for number in range(load.subscribers)]
        self.publishers = [_publisher(load, number, stack) for number in range(load.publishers)]
        self.size = len(_publish(load.qos))
        ids = range(1, PACKET_IDS + 1) if load.qos else (0,) * (load.window + 1)
        self.block = memoryview(b"".join(map(_publish, ids)))
        self.period = len(self.block) if load.qos else self.size
        self.received = [0] * load.subscribers
        self.sent = [0] * load.publishers
        self.next = 0
        self.buffer = bytearray(READ_BYTES_MAX)
        self.half = b""
        self.poller = select.poll()
        self.numbers = {link.fileno(): number for number, link in enumerate(self.subscribers)}
        for link in self.subscribers:
            self.poller.register(link, select.POLLIN)

    def push(self) -> None:
        """Fill the window, in turns."""
        room = self.load.window * self.size + min(self.received) - sum(self.sent)
        share = max(self.size, room // len(self.publishers))
        for _ in self.publishers:
            if room <= 0:
                return
            room -= self._send(self.next, min(room, share))
            self.next = (self.next + 1) % len(self.publishers)

    def _send(self, number: int, count: int) -> int:
        start = self.sent[number] % self.period
        try:
            gone = self.publishers[number].send(self.block[start : start + count])
        except BlockingIOError:
            return 0
        self.sent[number] += gone
        return gone

    def pull(self) -> None:
        """Wait for something, and count it."""
        if len(self.subscribers) == 1:
            self._read(0)
            return
        ready = self.poller.poll(SILENCE_S_MAX * 1000)
        if not ready:
            raise LoadFailed(self._lost())
        for number, _ in ready:
            self._read(self.numbers[number])

    def _read(self, number: int) -> None:
        try:
            count = self.subscribers[number].recv_into(self.buffer)
        except BlockingIOError:
            raise LoadFailed(self._lost()) from None
        if not count:
            raise LoadFailed("the broker closed the connection of a subscriber")
        self.received[number] += count
        if self.load.qos:
            self._acknowledge(number, count)

    def _acknowledge(self, number: int, count: int) -> None:
        data, size = self.half + self.buffer[:count], self.size
        whole = len(data) - len(data) % size
        at = range(_ID_AT, whole, size)
        self.subscribers[number].sendall(b"".join([b"\x40\x02" + data[start : start + 2] for start in at]))
        self.half = data[whole:]
        for link in self.publishers:
            with contextlib.suppress(BlockingIOError):
                link.recv(READ_BYTES_MAX)

    def _lost(self) -> str:
        missing = sum(self.sent) * len(self.subscribers) - sum(self.received)
        return f"{missing / self.size:.0f} messages did not arrive within {SILENCE_S_MAX} s"

    def in_flight(self) -> bool:
        return sum(self.sent) > min(self.received)

    def half_sent(self) -> Iterator[int]:
        return (number for number, sent in enumerate(self.sent) if sent % self.size)

    def take_leave(self) -> None:
        for link in (*self.publishers, *self.subscribers):
            link.send(_DISCONNECT)


def offer(load: Load) -> Result:
    """Offer the load and say how much came through per second. ``LoadFailed`` if anything was lost."""
    with contextlib.ExitStack() as stack:
        session = _Session(load, stack)
        if not load.qos:
            _await_route(session.publishers[0], session.subscribers, _publish(0))
        _pump(session, load.warm_s)
        before, began = sum(session.received), time.perf_counter()
        _pump(session, load.measure_s)
        rate = (sum(session.received) - before) / session.size / (time.perf_counter() - began)
        _finish(session)
        session.take_leave()
        return Result(rate, sum(session.sent) // session.size, sum(session.received) // session.size)


def _pump(session: _Session, length_s: float) -> None:
    end = time.perf_counter() + length_s
    while time.perf_counter() < end:
        session.push()
        session.pull()


def _finish(session: _Session) -> None:
    """Send the rest of messages that went out in part, and wait for all that is in flight."""
    while numbers := list(session.half_sent()):
        for number in numbers:
            session._send(number, session.size - session.sent[number] % session.size)
    while session.in_flight():
        session.pull()


if __name__ == "__main__":
    try:
        print(json.dumps(asdict(offer(Load(**json.loads(sys.argv[1]))))))
    except (LoadFailed, OSError) as error:
        sys.exit(str(error))
