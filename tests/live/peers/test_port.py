"""The sockets of a peer: words of any length arrive, by the way that suits them; what is no parcel is counted."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from reknit.live.address import Address, listen
from reknit.live.errors import PortTaken
from reknit.live.peers.parcels import DATAGRAM_BYTES_MAX, WORD_BYTES_MAX
from reknit.live.peers.port import port_open

ANY = Address("127.0.0.1", 0)
SIZES = [1, 1100, 1300, 9000, 20_000, 1_000_000]


def test_words_of_any_length_arrive(
    on_each_loop: Callable[[Coroutine[Any, Any, None]], None], until: Callable[..., Any]
) -> None:
    async def play() -> None:
        got: list[tuple[str, bytes]] = []
        async with port_open(ANY, b"secret", time.monotonic) as one, port_open(ANY, b"secret", time.monotonic) as other:
            other.received = lambda sender, word: got.append((sender, word))
            words = [bytes([number]) * size for number, size in enumerate(SIZES)]
            for word in words:
                one.send(str(other.address), word)
            await until(lambda: len(got) == len(words))
            assert sorted(got, key=lambda each: len(each[1])) == [(str(one.address), word) for word in words]
            assert DATAGRAM_BYTES_MAX - 100 < one.datagram_bytes_max <= DATAGRAM_BYTES_MAX
            assert one.counters == other.counters == {}

    on_each_loop(play())


def test_strangers_and_garbage_are_counted_and_ignored(until: Callable[..., Any]) -> None:
    async def play() -> None:
        got: list[bytes] = []
        async with port_open(ANY, b"secret", time.monotonic) as ours, port_open(ANY, b"", time.monotonic) as stranger:
            ours.received = lambda sender, word: got.append(word)
            stranger.received = lambda sender, word: got.append(word)
            stranger.send(str(ours.address), b"word")
            stranger.send(str(ours.address), bytes(100_000))
            await until(lambda: ours.counters.get("strangers") == 2)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                for data in (b"\x09nothing", bytes(DATAGRAM_BYTES_MAX + 1), b""):
                    sock.sendto(data, stranger.address)
            _, writer = await asyncio.open_connection(*stranger.address)
            writer.write((WORD_BYTES_MAX * 2).to_bytes(4, "big"))
            await until(lambda: stranger.counters.get("garbage") == 4)
            writer.close()
            assert got == []

    asyncio.run(play())


def test_what_cannot_be_sent_is_counted(until: Callable[..., Any]) -> None:
    async def play() -> None:
        async with port_open(ANY, b"", time.monotonic) as port:
            port.send("no address at all", b"word")
            port.send("127.0.0.1:1", bytes(100_000))
            await until(lambda: port.counters == {"no_address": 1, "streams_failed": 1})

    asyncio.run(play())


def test_a_taken_port_is_told() -> None:
    async def play() -> None:
        with listen(ANY, "test") as taken:
            async with port_open(Address(*taken.getsockname()), b"", time.monotonic):
                raise AssertionError("it is taken")

    with pytest.raises(PortTaken):
        asyncio.run(play())
