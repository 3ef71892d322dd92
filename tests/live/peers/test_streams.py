"""Streams: bounded in both directions, and closed when they rest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from reknit.live.address import Address
from reknit.live.peers import streams
from reknit.live.peers.port import port_open

ANY = Address("127.0.0.1", 0)
LONG = bytes(50_000)


def test_a_stream_ends_when_it_rests_and_is_made_anew(
    until: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "REST_S", 0.05)

    async def play() -> None:
        got: list[bytes] = []
        async with port_open(ANY, b"", time.monotonic) as one, port_open(ANY, b"", time.monotonic) as other:
            other.received = lambda sender, word: got.append(word)
            for count in (1, 2):
                one.send(str(other.address), LONG)
                await until(lambda count=count: len(got) == count)
                await until(lambda: not other.streams.inward and not one.streams._out)

    asyncio.run(play())


def test_one_more_than_the_bound_is_refused(until: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STREAMS_IN_MAX", 2)
    monkeypatch.setattr(streams, "STREAMS_OUT_MAX", 2)

    async def play() -> None:
        async with port_open(ANY, b"", time.monotonic) as port:
            calls = [await asyncio.open_connection(*port.address) for _ in range(3)]
            await until(lambda: port.counters == {"streams_refused": 1})
            assert len(port.streams.inward) == 2
            for number in range(1, 5):
                port.send(f"127.0.0.1:{number}", LONG)
                assert len(port.streams._out) <= 2
            for _, writer in calls:
                writer.close()

    asyncio.run(play())


def test_what_waits_on_a_stream_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "WAITING_BYTES_MAX", 3 * len(LONG))

    async def play() -> None:
        async with port_open(ANY, b"", time.monotonic) as one, port_open(ANY, b"", time.monotonic) as other:
            for _ in range(5):  # before the connection is there
                one.send(str(other.address), LONG)
            assert one.counters == {"streams_full": 3}

    asyncio.run(play())
