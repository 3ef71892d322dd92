"""How much memory a broker takes with 100,000 patterns of five ranges each.

Owns: the patterns, and the clients that bring them: a real broker process is fed over MQTT 5, as a user would, with
one selector for each SUBSCRIBE. Must not know: what the broker does with them.
"""

from __future__ import annotations

import random
import socket
import struct
import time
from typing import BinaryIO

import psutil  # type: ignore[import-untyped]

from bench.peers import Peer, reknit
from bench.rows import INFORMATION, Row

__all__ = ["run"]

PATTERNS = 100_000
FILTERS_PER_CLIENT = 1000
IN_FLIGHT = 100
"""SUBSCRIBEs that a client sends before it waits for their answers."""
ANSWER_S_MAX = 60.0
BUDGET_MB = 500.0
ATTRIBUTES = ("a", "b", "c", "d", "e")


def run(quick: bool = False) -> list[Row]:
    patterns = PATTERNS // 10 if quick else PATTERNS
    with reknit() as broker:
        empty_mb, began = _rss_mb(broker), time.perf_counter()
        links = [_fed(broker, number) for number in range(patterns // FILTERS_PER_CLIENT)]
        took_s, full_mb = time.perf_counter() - began, _rss_mb(broker)
        for link in links:
            link.close()
    note = f"{full_mb:.0f} MB resident ({empty_mb:.0f} MB without), subscribed in {took_s:.0f} s over MQTT 5"
    measure = f"memory of a broker with {patterns:,} patterns of 5 ranges"
    return [Row(measure, f"{BUDGET_MB:.0f} MB = 1", INFORMATION if quick else 1.0, BUDGET_MB / full_mb, note)]


def _rss_mb(broker: Peer) -> float:
    return float(sum(psutil.Process(process.pid).memory_info().rss for process in broker.processes)) / 1e6


def _selector(chance: random.Random) -> str:
    ranges = []
    for name in ATTRIBUTES:
        low = chance.randrange(0, 900_000)
        ranges.append(f"{name} BETWEEN {low} AND {low + chance.randrange(1, 100_000)}")
    return " AND ".join(ranges)


# --- a client that only subscribes


def _fed(broker: Peer, number: int) -> socket.socket:
    """A connection of which the broker holds as many patterns as one client may have."""
    chance = random.Random(number)
    link = socket.create_connection(("127.0.0.1", broker.subscribe_port), timeout=ANSWER_S_MAX)
    link.sendall(_packet(0x10, _text("MQTT") + b"\x05\x02\x00\x00" + b"\x00" + _text(f"m{number}")))
    reader = link.makefile("rb")
    _answer(reader, 0x20, code_at=1)
    for start in range(0, FILTERS_PER_CLIENT, IN_FLIGHT):
        packets = [_subscribe(at, _selector(chance)) for at in range(start, start + IN_FLIGHT)]
        link.sendall(b"".join(packets))
        for _ in packets:
            _answer(reader, 0x90, code_at=-1)
    return link


def _subscribe(at: int, selector: str) -> bytes:
    user_property = b"\x26" + _text("selector") + _text(selector)
    properties = _length(len(user_property)) + user_property
    # The filters of one client must differ: in MQTT a second subscription to the same one replaces the first.
    return _packet(0x82, struct.pack("!H", at + 1) + properties + _text(f"bench/memory/{at}") + b"\x00")


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("!H", len(data)) + data


def _packet(first: int, body: bytes) -> bytes:
    return bytes((first,)) + _length(len(body)) + body


def _length(value: int) -> bytes:
    """A variable byte integer of at most two bytes, which is as much as is needed here."""
    return bytes((value,)) if value < 128 else bytes((value & 127 | 128, value >> 7))


def _answer(reader: BinaryIO, kind: int, code_at: int) -> None:
    """Read one packet, and see that it is of that kind and carries no refusal."""
    head = reader.read(2)
    if len(head) < 2:
        raise RuntimeError("the broker closed the connection")
    length = head[1]
    if length & 128:
        length = (length & 127) | reader.read(1)[0] << 7
    body = reader.read(length)
    if head[0] != kind or body[code_at] >= 128:
        raise RuntimeError(f"the broker answered {head.hex()} {body.hex()} where {kind:02x} was expected")
