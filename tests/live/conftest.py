"""Brokers for the tests of the live shell: in this process, on ports that the kernel chooses."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeAlias

import pytest

from reknit.live.address import Address
from reknit.live.config import Settings
from reknit.live.process import BrokerPlan

ANY = Address("127.0.0.1", 0)
Until: TypeAlias = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


@pytest.fixture
def plan() -> Callable[..., BrokerPlan]:
    """Make the plan of a broker on free ports."""

    def make(name: str = "b1", neighbours: Mapping[str, str] | None = None, **settings: Any) -> BrokerPlan:
        return BrokerPlan(
            name=name, mqtt=ANY, listen=ANY, admin=ANY, neighbours=neighbours or {}, settings=Settings(**settings)
        )

    return make


@pytest.fixture(params=["asyncio", "uvloop"])
def on_each_loop(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, None]], None]:
    """Run a coroutine on the plain loop and on the fast one; their transports are not alike."""
    factory = None
    if request.param == "uvloop":
        factory = pytest.importorskip("uvloop", reason="uvloop is not installed").new_event_loop

    def run(play: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(play)

    return run


@pytest.fixture
def until() -> Until:
    """Wait for what must become true; the test's own time limit is the only one."""

    async def waiting(true: Callable[[], bool | Awaitable[bool]]) -> None:
        while True:
            answer = true()
            if await answer if inspect.isawaitable(answer) else answer:
                return
            await asyncio.sleep(0.01)

    return waiting
