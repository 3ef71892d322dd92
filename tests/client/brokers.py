"""A broker in a thread of its own, for clients that block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from reknit.live.address import Address
from reknit.live.process import BrokerPlan, RunningBroker, broker_running


@contextmanager
def broker_beside() -> Iterator[RunningBroker]:
    """Serves until the end; that nothing in it failed is seen to."""
    ready, made = threading.Event(), list[RunningBroker]()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        anywhere = Address("127.0.0.1", 0)
        ended = asyncio.Event()
        async with broker_running(BrokerPlan("b1", anywhere, anywhere)) as broker:
            made.append(broker)
            stop.append(ended)
            ready.set()
            await ended.wait()

    stop = list[asyncio.Event]()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(60)
    try:
        yield made[0]
        assert made[0].driver.counters.failures == 0
    finally:
        loop.call_soon_threadsafe(stop[0].set)
        thread.join(60)
        loop.close()
