"""What a broker shows of itself is plain, and as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import aiomqtt
import msgspec

from reknit.client import connect
from reknit.core.book.options import BookOptions
from reknit.core.broker import BrokerOptions
from reknit.live.config import MqttSection
from reknit.live.look import count, neighbours, waiting, waiting_for
from reknit.live.process import BrokerPlan, broker_running


def test_a_neighbour_that_is_not_there_is_waited_for_and_one_that_is_has_a_link(
    plan: Callable[..., BrokerPlan], until: Any
) -> None:
    async def run() -> None:
        async with broker_running(plan("b1", {"b2": ""})) as b1:
            assert waiting_for(b1.driver) == ["b2"]
            assert list(waiting(b1.driver)) == ["b2"]
            async with broker_running(plan("b2", {"b1": str(b1.listen)})):
                await until(lambda: not waiting_for(b1.driver))
                assert neighbours(b1.driver)["b2"]["up"]

    asyncio.run(run())


def test_what_is_counted_can_be_written_as_json(plan: Callable[..., BrokerPlan]) -> None:
    async def run() -> None:
        async with broker_running(plan()) as broker:
            async with connect(*broker.mqtt) as client:
                await client.publish("t", b"x", qos=1)
            counted = msgspec.json.decode(msgspec.json.encode(count(broker.driver)))
            assert counted["mqtt"]["received"]["Publish"] == 1
            assert counted["shell"]["clients_accepted"] == 1
            assert counted["core"] == {"malformed_frames": 0, "unrouted": 0, "book_refused": 0, "homes_dropped": 0}

    asyncio.run(run())


def test_what_the_book_and_the_guard_had_no_room_for_is_counted(plan: Callable[..., BrokerPlan]) -> None:
    async def run() -> None:
        options = BrokerOptions(book=BookOptions(lines_max=1))
        async with broker_running(plan(options=options, mqtt=MqttSection(unique_ids=False))) as broker:
            async with aiomqtt.Client(*broker.mqtt) as client:
                for topic in ("a", "b"):
                    await client.publish(topic, b"x", qos=1, retain=True)
            assert not await broker.driver.guard.check("ann", b"x")  # there is no file
            assert count(broker.driver)["core"]["book_refused"] == 1
            assert count(broker.driver)["shell"]["passwords_unread"] == 1

    asyncio.run(run())
