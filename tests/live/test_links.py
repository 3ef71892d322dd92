"""Links on real sockets: two brokers meet, and garbage on a broker's port harms nobody."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from reknit.core.broker import BrokerOptions
from reknit.core.links.options import LinkOptions
from reknit.live.look import count
from reknit.live.process import BrokerPlan, RunningBroker, broker_running

HASTY = BrokerOptions(links=LinkOptions(greeting_s_max=0.2))


def up(broker: RunningBroker, peer: str) -> bool:
    return bool(broker.driver.broker.table()["neighbours"].get(peer, {}).get("up"))


def test_two_brokers_link_lose_their_connection_and_link_again(
    plan: Callable[..., BrokerPlan], until: Any, on_each_loop: Any
) -> None:
    async def run() -> None:
        async with broker_running(plan("b1")) as b1, broker_running(plan("b2", {"b1": str(b1.listen)})) as b2:
            await until(lambda: up(b1, "b2") and up(b2, "b1"))
            assert (b1.driver.counters.links_accepted, b2.driver.counters.links_dialled) == (1, 1)
            next(iter(b1.driver.links.values())).give_up("a test")
            await until(lambda: b2.driver.counters.links_dialled == 2 and up(b1, "b2") and up(b2, "b1"))
            assert b1.driver.counters.failures == b2.driver.counters.failures == 0

    on_each_loop(run())


async def throw(broker: RunningBroker, data: bytes) -> bytes:
    """Send it to the broker's port and read until the connection ends."""
    reader, writer = await asyncio.open_connection(*broker.listen)
    try:
        writer.write(data)
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


def test_garbage_and_silence_end_the_connection_and_are_counted(
    plan: Callable[..., BrokerPlan], until: Any, on_each_loop: Any
) -> None:
    chance = random.Random(7)
    garbage = [chance.randbytes(chance.randrange(1, 400)) for _ in range(30)]
    garbage += [(5).to_bytes(4, "big") + chance.randbytes(5) for _ in range(10)]

    async def run() -> None:
        async with broker_running(plan("b1", options=HASTY)) as b1:
            await asyncio.gather(*(throw(b1, data) for data in garbage))
            await throw(b1, (1 << 31).to_bytes(4, "big"))
            await throw(b1, (100).to_bytes(4, "big") + b"half a frame")
            await throw(b1, b"")
            await until(lambda: not b1.driver.links)
            counters = b1.driver.counters
            assert counters.links_accepted == len(garbage) + 3
            assert counters.link_frames_refused >= 1
            assert counters.links_closed >= 12
            assert count(b1.driver)["core"]["malformed_frames"] >= 10
            assert counters.failures == 0
            async with broker_running(plan("b2", {"b1": str(b1.listen)})) as b2:
                await until(lambda: up(b1, "b2") and up(b2, "b1"))

    on_each_loop(run())
