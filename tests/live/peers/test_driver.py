"""The driver of a peer: alarms ring, a bad word is not its end, and who publishes waits until that is under way."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from reknit.community.io import Deliver, Input, Join
from reknit.community.options import PeerOptions
from reknit.community.peer import Peer
from reknit.live.address import Address
from reknit.live.peers.driver import PeerDriver
from reknit.live.peers.port import port_open
from reknit.model.event import Event
from reknit.trace.records import Kind, Record

ANY = Address("127.0.0.1", 0)


def test_who_is_alone_publishes_when_it_knows_that_it_is() -> None:
    async def play() -> None:
        got: list[Deliver] = []
        seen: list[Record] = []
        async with port_open(ANY, b"", time.monotonic) as port:
            options = PeerOptions(pending_s_max=0.05, observe=True)
            core = Peer(str(port.address), options, random.Random(1), 7, time.monotonic())
            driver = PeerDriver(core, port, got.append, seen.append)
            driver.give(Join("t"))
            await driver.publish(Event("t", b"x"))
            assert [each.event.payload for each in got] == [b"x"]
            assert Kind.PUBLISHED in [record.kind for record in seen]
            driver.stop()

    asyncio.run(play())


def test_a_failure_is_logged_and_counted(
    until: Callable[..., Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with port_open(ANY, b"", time.monotonic) as port, port_open(ANY, b"", time.monotonic) as other:
            core = Peer(str(port.address), PeerOptions(), random.Random(1), 1, time.monotonic())
            driver = PeerDriver(core, port, lambda deliver: None)

            def broken(given: Input, now: float) -> list[Any]:
                raise RuntimeError("planted")

            monkeypatch.setattr(core, "handle", broken)
            other.send(str(port.address), b"word")
            await until(lambda: driver.failures == 1)
            driver.stop()

    with caplog.at_level(logging.CRITICAL, "reknit.live.peers"):
        asyncio.run(play())
