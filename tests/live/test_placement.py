"""Brokers on a ring, in this process: a client is told a better broker, goes there, and misses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import reknit
from reknit.core.options import BrokerOptions
from reknit.core.placement.options import PlacementOptions
from reknit.core.ring.options import RingOptions
from reknit.live.process import BrokerPlan, RunningBroker, broker_running
from reknit.mqtt.encode import encode
from reknit.mqtt.packets import V3_1_1, Connect, Disconnect, Request, Subscribe
from reknit.mqtt.properties import PropertyId, text
from reknit.mqtt.reasons import Reason
from tests.live.speaking import speak

Run = Callable[[Coroutine[Any, Any, None]], None]
Plan = Callable[..., BrokerPlan]

QUICK = BrokerOptions(
    routing="rendezvous",
    ring=RingOptions(stabilise_s=0.05, refresh_s=0.1, fresh_s=0.8, grace_s=0.8, alone_s=0.5, handover_s=0.3),
    placement=PlacementOptions(update_s=0.2, settle_s=0.1, load_weight=0.0),
)


@asynccontextmanager
async def _ring(plan: Plan, until: Any) -> AsyncIterator[tuple[RunningBroker, RunningBroker, RunningBroker]]:
    async with broker_running(plan("b1", options=QUICK)) as b1:
        first = {"b1": str(b1.listen)}
        async with (
            broker_running(plan("b2", first, options=QUICK)) as b2,
            broker_running(plan("b3", first, options=QUICK)) as b3,
        ):
            brokers = (b1, b2, b3)
            await until(lambda: all(each.driver.broker.table()["ready"] for each in brokers))
            await until(lambda: all(len(each.driver.broker.table()["ring"]["behind"]) >= 2 for each in brokers))
            yield brokers


def _at(broker: RunningBroker, client: str) -> bool:
    return client in broker.driver.broker.table()["clients"]


def _knows(broker: RunningBroker, other: str, topics: int) -> bool:
    others = broker.driver.broker.table()["placement"]["others"]
    return other in others and others[other]["topics"] == topics


async def _say(publisher: Any, numbers: list[int], done: asyncio.Event) -> None:
    while not done.is_set():
        numbers.append(len(numbers))
        await publisher.publish("t", str(numbers[-1]), qos=1)
        await asyncio.sleep(0.005)


def test_the_python_client_goes_where_others_want_the_same_and_misses_nothing(
    plan: Plan, on_each_loop: Run, until: Any
) -> None:
    async def play() -> None:
        async with (
            _ring(plan, until) as (b1, b2, b3),
            reknit.connect(*b2.mqtt, client_id="dan") as dan,
            dan.subscribe("t", qos=1),
            reknit.connect(*b3.mqtt, client_id="pip") as pip,
        ):
            await until(lambda: _knows(b1, "b2", 1))
            async with reknit.connect(*b1.mqtt, client_id="cid") as cid, cid.subscribe("t", qos=1) as events:
                numbers: list[int] = []
                done = asyncio.Event()
                await until(lambda: "t" in b1.driver.broker.table()["ring"]["wanted"])
                await asyncio.sleep(0.3)  # the tree leads there
                saying = asyncio.create_task(_say(pip, numbers, done))
                await until(lambda: _at(b2, "cid") and not _at(b1, "cid"))
                moved_after = len(numbers)
                await until(lambda: len(numbers) > moved_after + 30)
                done.set()
                await saying
                assert [int((await anext(events)).payload) for _ in numbers] == numbers
                assert moved_after > 0
                assert b1.driver.broker.table()["placement"]["moved"] == 1
            await until(lambda: not _at(b2, "cid"))

    on_each_loop(play())


def test_an_mqtt_5_client_is_told_where_and_finds_its_session_there(plan: Plan, on_each_loop: Run, until: Any) -> None:
    async def play() -> None:
        async with (
            _ring(plan, until) as (b1, b2, b3),
            reknit.connect(*b2.mqtt, client_id="dan") as dan,
            dan.subscribe("t", qos=1),
            reknit.connect(*b3.mqtt, client_id="pip") as pip,
        ):
            await until(lambda: _knows(b1, "b2", 1))
            ann = await speak(b1.mqtt, "ann")
            await ann.subscribe("t")
            while not isinstance(packet := await ann.next(), Disconnect):
                pass
            assert packet.reason == Reason.SERVER_MOVED
            assert text(packet.properties, PropertyId.SERVER_REFERENCE) == str(b2.mqtt)
            await ann.until_end()
            await pip.publish("t", "while nobody is there", qos=1)
            again = await speak(b2.mqtt, "ann")
            assert again.present
            await pip.publish("t", "when it is", qos=1)
            assert await again.hears(2) == ["while nobody is there", "when it is"]
            await again.leave()

    on_each_loop(play())


def test_one_that_cannot_be_told_stays(plan: Plan, until: Any) -> None:
    async def play() -> None:
        async with (
            _ring(plan, until) as (b1, b2, _),
            reknit.connect(*b2.mqtt, client_id="dan") as dan,
            dan.subscribe("t", qos=1),
            dan.subscribe("u", qos=1),
        ):
            await until(lambda: _knows(b1, "b2", 2))
            old, new = await _speak_3_1_1(b1, "old"), await speak(b1.mqtt, "new")
            await new.subscribe("t", "u")
            await until(lambda: _at(b2, "new"))
            await asyncio.sleep(0.3)
            assert _at(b1, "old")
            await new.until_end()
            old.close()

    asyncio.run(play())


async def _speak_3_1_1(broker: RunningBroker, client: str) -> asyncio.StreamWriter:
    reader, writer = await asyncio.open_connection(*broker.mqtt)
    writer.write(encode(Connect(client, version=V3_1_1), V3_1_1) + encode(Subscribe(1, (Request("t", 1),)), V3_1_1))
    await reader.readexactly(4)
    return writer
