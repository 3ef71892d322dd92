"""A crowd: publishers and subscribers at several brokers, that all hear each other, and note what came, and when.

Owns: an even load at a given rate, and the judgement of each subscriber over what it has received: every event carries
its publisher, its number and the moment at which it was sent. Must not know: what is done to the brokers meanwhile.

Every packet has the same length, so nothing is parsed but the three numbers. Run as a program it takes a ``Crowd`` as
JSON, prints ``ready`` once everybody hears everybody, publishes until its standard input ends, and prints a ``Heard``
as JSON. The delays go to a file, as pairs of doubles: when it was sent (on the machine's monotonic clock), and how
long it took.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import select
import socket
import struct
import sys
import time
from array import array
from dataclasses import asdict, dataclass, field
from pathlib import Path

__all__ = ["Crowd", "Ear", "Heard", "gather", "hear_out", "packet"]

PAYLOAD = struct.Struct("!HId")
PAD_BYTES = 100 - PAYLOAD.size
HEAD_BYTES = 2 + 2 + len(b"crowd/000")
WHOLE = struct.Struct(f"!{HEAD_BYTES}xHId{PAD_BYTES}x")
TICK_S = 0.005
PROBE_S = 0.1
PROBES_MAX = 300
SILENCE_S_MAX = 10.0
ANSWER_S_MAX = 10.0
READ_BYTES_MAX = 1 << 18


@dataclass(frozen=True, slots=True)
class Crowd:
    ports: list[int]
    subscribers_per_broker: int
    events_per_s: int
    delays_file: str
    topics: int = 1
    """Everybody hears them all; a publisher has one of them."""


@dataclass(slots=True)
class Heard:
    sent: int = 0
    """Events."""
    owed: int = 0
    """Deliveries: every event to every subscriber."""
    received: int = 0
    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0


def topic(number: int) -> bytes:
    return b"crowd/%03d" % number


def packet(publisher: int, number: int, now: float, topics: int = 1) -> bytes:
    """A PUBLISH at QoS 0. Number 0 is a probe, which nobody judges."""
    body = _text(topic(publisher % topics)) + PAYLOAD.pack(publisher, number, now) + bytes(PAD_BYTES)
    return bytes((0x30, len(body))) + body


@dataclass(slots=True)
class Ear:
    """What one subscriber has heard."""

    publishers: int
    last: list[int] = field(default_factory=list)
    probed: set[int] = field(default_factory=set)
    missing: set[tuple[int, int]] = field(default_factory=set)
    received: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    delays: array[float] = field(default_factory=lambda: array("d"))
    rest: bytes = b""

    def __post_init__(self) -> None:
        self.last = [0] * self.publishers

    def hear(self, data: bytes, now: float) -> None:
        data = self.rest + data if self.rest else data
        whole = len(data) - len(data) % WHOLE.size
        self.rest = data[whole:]
        last, delays = self.last, self.delays
        for publisher, number, sent in WHOLE.iter_unpack(data[:whole]):
            if number == 0:
                self.probed.add(publisher)
                continue
            self.received += 1
            delays.append(sent)
            delays.append(now - sent)
            if number == last[publisher] + 1:
                last[publisher] = number
            else:
                self._judge(publisher, number)

    def _judge(self, publisher: int, number: int) -> None:
        """It is not the next one."""
        last = self.last[publisher]
        if number > last:
            self.missing.update((publisher, gone) for gone in range(last + 1, number))
            self.last[publisher] = number
        elif (publisher, number) in self.missing:
            self.missing.discard((publisher, number))
            self.out_of_order += 1
        else:
            self.duplicated += 1

    def lost(self, sent: list[int]) -> int:
        return len(self.missing) + sum(said - last for said, last in zip(sent, self.last, strict=True))


# --- connections


def _text(value: bytes) -> bytes:
    return struct.pack("!H", len(value)) + value


def _open(port: int, name: str, stack: contextlib.ExitStack) -> socket.socket:
    link = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S_MAX))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    body = _text(b"MQTT") + bytes((4, 2, 0, 0)) + _text(name.encode())
    _ask(link, bytes((0x10, len(body))) + body, b"\x20\x02\x00\x00")
    return link


def _ask(link: socket.socket, question: bytes, answer: bytes) -> None:
    link.sendall(question)
    found = b""
    while len(found) < len(answer) and (more := link.recv(len(answer) - len(found))):
        found += more
    if found != answer:
        raise OSError(f"the broker answered {found.hex()}, not {answer.hex()}")


class _Gathering:
    def __init__(self, crowd: Crowd, stack: contextlib.ExitStack) -> None:
        self.crowd = crowd
        self.publishers = [_open(port, f"p{place}", stack) for place, port in enumerate(crowd.ports)]
        self.sent = [0] * len(self.publishers)
        self.ears: dict[int, tuple[socket.socket, Ear]] = {}
        self.poller = select.poll()
        for place, port in enumerate(crowd.ports):
            for number in range(crowd.subscribers_per_broker):
                self._subscribe(_open(port, f"s{place}-{number}", stack))

    def _subscribe(self, link: socket.socket) -> None:
        for number in range(self.crowd.topics):
            body = b"\x00\x01" + _text(topic(number)) + b"\x00"
            _ask(link, bytes((0x82, len(body))) + body, b"\x90\x03\x00\x01\x00")
        self.ears[link.fileno()] = (link, Ear(len(self.publishers)))
        self.poller.register(link, select.POLLIN)

    def listen(self, wait_s: float) -> bool:
        """Hear what has come; False if nothing has."""
        ready = self.poller.poll(wait_s * 1000)
        for number, _ in ready:
            link, ear = self.ears[number]
            data = link.recv(READ_BYTES_MAX)
            if not data:
                raise OSError("the broker closed the connection of a subscriber")
            ear.hear(data, time.monotonic())
        return bool(ready)

    def probe(self) -> None:
        """Until everybody hears everybody."""
        everybody = set(range(len(self.publishers)))
        for _ in range(PROBES_MAX):
            for place, link in enumerate(self.publishers):
                link.sendall(packet(place, 0, 0.0, self.crowd.topics))
            until = time.monotonic() + PROBE_S
            while (left := until - time.monotonic()) > 0:
                self.listen(left)
            if all(ear.probed == everybody for _, ear in self.ears.values()):
                return
        raise OSError("not everybody hears everybody")

    def speak(self, stop: select.poll) -> None:
        """At an even pace, until told to stop."""
        due, pace_s = time.monotonic(), 1 / self.crowd.events_per_s
        while not stop.poll(0):
            while due <= (now := time.monotonic()):
                place = sum(self.sent) % len(self.publishers)
                self.sent[place] += 1
                self.publishers[place].sendall(packet(place, self.sent[place], now, self.crowd.topics))
                due += pace_s
            self.listen(max(min(due - time.monotonic(), TICK_S), 0))

    def drain(self) -> None:
        limit = time.monotonic() + SILENCE_S_MAX
        while any(ear.last != self.sent or ear.missing for _, ear in self.ears.values()):
            if self.listen(TICK_S):
                limit = time.monotonic() + SILENCE_S_MAX
            elif time.monotonic() > limit:
                return
        self.listen(PROBE_S)  # what should not come

    def heard(self) -> Heard:
        ears = [ear for _, ear in self.ears.values()]
        with Path(self.crowd.delays_file).open("wb") as file:
            for ear in ears:
                ear.delays.tofile(file)
        return Heard(
            sum(self.sent),
            sum(self.sent) * len(ears),
            sum(ear.received for ear in ears),
            sum(ear.lost(self.sent) for ear in ears),
            sum(ear.duplicated for ear in ears),
            sum(ear.out_of_order for ear in ears),
        )


async def gather(crowd: Crowd) -> asyncio.subprocess.Process:
    """As a program of its own, which publishes from now on."""
    words = [sys.executable, "-m", "bench.crowd", json.dumps(asdict(crowd))]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    if await process.stdout.readline() != b"ready\n":
        raise RuntimeError("the crowd did not gather")
    return process


async def hear_out(process: asyncio.subprocess.Process) -> Heard:
    """It publishes no more, and says what it has heard."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    heard = Heard(**json.loads(await process.stdout.readline()))
    await process.wait()
    return heard


def main(text: str) -> None:
    stop = select.poll()
    stop.register(sys.stdin, select.POLLIN | select.POLLHUP)
    with contextlib.ExitStack() as stack:
        gathering = _Gathering(Crowd(**json.loads(text)), stack)
        gathering.probe()
        print("ready", flush=True)
        gathering.speak(stop)
        gathering.drain()
        print(json.dumps(asdict(gathering.heard())), flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except OSError as error:
        sys.exit(str(error))
