"""A broker for the client's tests, in the test's own loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from reknit.live.address import Address
from reknit.live.config import MqttSection, Settings
from reknit.live.process import BrokerPlan, RunningBroker, broker_running

Play: TypeAlias = Callable[[RunningBroker], Coroutine[Any, Any, None]]


@pytest.fixture
def with_broker() -> Callable[..., None]:
    """Run a coroutine function with a broker that serves; keyword arguments go into ``[mqtt]``."""

    def run(play: Play, **mqtt: Any) -> None:
        async def inside() -> None:
            anywhere = Address("127.0.0.1", 0)
            settings = Settings(mqtt=MqttSection(**mqtt))
            async with broker_running(BrokerPlan("b1", anywhere, anywhere, settings=settings)) as broker:
                await play(broker)
                assert broker.driver.counters.failures == 0

        asyncio.run(inside())

    return run
