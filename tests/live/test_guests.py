"""The guest book: strangers choose how often they come, and not how much is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import aiomqtt

from reknit.live.config import MqttSection
from reknit.live.guests import LINES_A_SECOND_MAX, GuestBook
from reknit.live.log import Line
from reknit.live.process import BrokerPlan, broker_running
from reknit.mqtt.news import News


def test_the_words() -> None:
    said: list[str] = []
    book = GuestBook(said.append)
    book.note(News("connected", 1, "c", "ann", "5.0"), "1.2.3.4", 0.0)
    book.note(News("disconnected", 1, "c", "ann", "5.0", "KEEP_ALIVE_TIMEOUT"), "1.2.3.4", 0.1)
    book.note(News("refused", 2, reason="NO_CONNECT"), "1.2.3.4", 0.2)
    assert said == [
        "client c connected from 1.2.3.4 as ann, MQTT 5.0",
        "client c at 1.2.3.4 disconnected: KEEP_ALIVE_TIMEOUT",
        "a client at 1.2.3.4 was refused: NO_CONNECT",
    ]


def test_beyond_the_bound_they_are_counted() -> None:
    said: list[str] = []
    book = GuestBook(said.append)
    for _ in range(LINES_A_SECOND_MAX + 7):
        book.note(News("refused", 2, reason="NO_CONNECT"), "somewhere", 5.3)
    assert len(said) == LINES_A_SECOND_MAX
    book.note(News("refused", 2, reason="NO_CONNECT"), "somewhere", 6.1)
    assert said[-2].startswith("7 more clients came, went, were refused or had a full queue")
    assert len(said) == LINES_A_SECOND_MAX + 2


def test_a_full_queue_is_a_warning_with_its_count_at_the_end() -> None:
    said: list[Line] = []
    book = GuestBook(said.append)  # type: ignore[arg-type]
    book.note(News("dropping", 1, "c", "ann", reason="queue full", count=1), "1.2.3.4", 0.0)
    book.note(News("dropped", 0, "c", "ann", reason="queue full", count=7), "an unknown address", 0.1)
    assert said == [
        "the queue of client c is full: messages for it are dropped until it has taken what waits",
        "the queue of client c was full, and 7 messages for it were dropped",
    ]
    assert [(line.event, line.level) for line in said] == [
        ("client.dropping", "warning"),
        ("client.dropped", "warning"),
    ]
    assert said[1].fields == {"client": "c", "user": "ann", "reason": "queue full", "count": 7}


def test_a_broker_tells_of_the_queue_of_a_client_that_is_away(plan: Callable[..., BrokerPlan], until: Any) -> None:
    said: list[str] = []

    async def run() -> None:
        async with broker_running(plan(mqtt=MqttSection(queue_messages_max=2)), said.append) as broker:
            at: dict[str, Any] = {"hostname": broker.mqtt.host, "port": broker.mqtt.port}
            terms = {**at, "identifier": "c", "clean_session": False}
            async with aiomqtt.Client(**terms) as client:
                await client.subscribe("t", qos=1)
            async with aiomqtt.Client(**at) as other:
                for _ in range(5):
                    await other.publish("t", b"x", qos=1)
            assert broker.driver.door.counters.dropped["queue full"] == 3
            async with aiomqtt.Client(**terms):
                await until(lambda: any(line.startswith("the queue of client c was full") for line in said))

    asyncio.run(run())
    assert [line for line in said if "queue" in line] == [
        "the queue of client c is full: messages for it are dropped until it has taken what waits",
        "the queue of client c was full, and 3 messages for it were dropped",
    ]
