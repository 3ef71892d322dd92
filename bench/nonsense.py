"""Nonsense for each port of a broker, from a seed: packets that are nearly right.

Owns: what a hostile client sends on one connection. Must not know: sockets, or what a broker answers.

Bytes drawn at random die at the first look. So most of it is valid packets that are cut, flipped, doubled, said at the
wrong time, or that lie about their length; and a connection says some sense first, so that the nonsense gets further.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

from reknit.live.relay import Preface
from reknit.mqtt import packets
from reknit.mqtt.encode import encode
from reknit.mqtt.packets import V3_1_1, V5_0, Packet, Request, Will

__all__ = ["PACKETS_PER_CONNECTION", "PORTS", "connection"]

PACKETS_PER_CONNECTION = 25

PORTS = ("mqtt", "ws", "listen", "relay", "admin")


def connection(port: str, rng: random.Random) -> bytes:
    """All that one connection says, in one piece: ``PACKETS_PER_CONNECTION`` packets, or what is one there."""
    return _MAKERS[port](rng)


# --- MQTT


def _packets(rng: random.Random, version: int) -> list[Packet]:
    topic = rng.choice(("t", "a/b", "$SYS/x", "+", "#", "", "a" * 300, "a/" * 40, "\x00", "ä"))
    ident = rng.choice((0, 1, 2, 65_535))
    will = Will(topic, b"x", rng.choice((0, 1, 2)), False) if rng.random() < 0.3 else None
    return [
        packets.Connect(rng.choice(("", "n", "n" * 70)), version, will=will),
        packets.Publish(topic, bytes(rng.randrange(60)), rng.choice((0, 1, 2)), packet_id=ident),
        packets.Puback(ident),
        packets.Pubrec(ident),
        packets.Pubrel(ident),
        packets.Pubcomp(ident),
        packets.Subscribe(ident, (Request(topic, rng.choice((0, 1, 2))),)),
        packets.Unsubscribe(ident, (topic,)),
        packets.Pingreq(),
        packets.Disconnect(),
    ]


def _encoded(rng: random.Random, version: int) -> bytes:
    while True:
        try:
            return encode(rng.choice(_packets(rng, version)), version)
        except (ValueError, struct.error):
            continue


def _spoiled(rng: random.Random, data: bytes) -> bytes:
    """Nearly right: one thing is wrong with it."""
    if not data:
        return b"\x00"
    at, choice = rng.randrange(len(data)), rng.random()
    if choice < 0.4:
        return data[:at] + bytes((data[at] ^ (1 << rng.randrange(8)),)) + data[at + 1 :]
    if choice < 0.6:
        return data[:at]
    if choice < 0.75:
        return data[:at] + rng.randbytes(rng.randrange(1, 9)) + data[at:]
    if choice < 0.85:
        return data[:1] + b"\xff\xff\xff" + bytes((rng.randrange(128),)) + data[1:]
    return data  # right, but hardly at this time


def _mqtt(rng: random.Random) -> bytes:
    version = rng.choice((V3_1_1, V5_0))
    sense = [encode(packets.Connect(f"n{rng.randrange(100)}", version), version)] if rng.random() < 0.8 else []
    nonsense = [_spoiled(rng, _encoded(rng, version)) for _ in range(PACKETS_PER_CONNECTION - len(sense))]
    return b"".join([*sense, *nonsense])


# --- WebSocket

_UPGRADE = (
    b"GET /mqtt HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Protocol: mqtt\r\n\r\n"
)


def _frame(rng: random.Random, data: bytes) -> bytes:
    first = rng.choice((0x82, 0x82, 0x82, 0x81, 0x80, 0x88, 0x89, 0x8A, 0x02, 0xF2))
    head = bytes((first, 0x80 | len(data))) if len(data) < 126 else struct.pack("!BBH", first, 0xFE, len(data) & 0xFFFF)
    return head + b"\x00\x00\x00\x00" + data


def _ws(rng: random.Random) -> bytes:
    said = [_UPGRADE if rng.random() < 0.8 else _spoiled(rng, _UPGRADE)]
    said += [_spoiled(rng, _frame(rng, _encoded(rng, V5_0))) for _ in range(PACKETS_PER_CONNECTION - 1)]
    return b"".join(said)


# --- links and operators


def _listen(rng: random.Random) -> bytes:
    frames = []
    for _ in range(PACKETS_PER_CONNECTION):
        body = rng.randbytes(rng.randrange(1, 80))
        lie = rng.choice((0, 0, 0, 1, -1, 1 << 20, 1 << 31))
        frames.append(struct.pack("!I", (len(body) + lie) & 0xFFFFFFFF) + body)
    return b"".join(frames)


def _relay(rng: random.Random) -> bytes:
    """A broker that has lost its mind: it says for whom it comes, more or less, and then what a client says."""
    preface = Preface(rng.choice(("", "u", "u" * 3_000)), rng.choice(("127.0.0.1", "", "\x00"))).written()
    return (preface if rng.random() < 0.7 else _spoiled(rng, preface)) + _mqtt(rng)


def _admin(rng: random.Random) -> bytes:
    paths = (b"/healthz", b"/links", b"/links/%2e%2e", b"/swap", b"/metrics", b"/" + b"a" * 200, b"*", b"")
    said = []
    for _ in range(PACKETS_PER_CONNECTION):
        verb = rng.choice((b"GET", b"POST", b"DELETE", b"PUT", b"", b"GET GET"))
        body = rng.choice((b"", b"{}", b"{", b'{"peer": 1}', rng.randbytes(20)))
        length = len(body) + rng.choice((0, 0, 0, -1, 5, 1 << 40))
        head = b"%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (verb, rng.choice(paths), length)
        said.append(_spoiled(rng, head + body))
    return b"".join(said)


_MAKERS: dict[str, Callable[[random.Random], bytes]] = {
    "mqtt": _mqtt,
    "ws": _ws,
    "listen": _listen,
    "relay": _relay,
    "admin": _admin,
}
