"""Wishes, played into a live broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from reknit.client import BadRequest, ConnectFailed, connect
from reknit.client.replay import Pace, Played, replay
from reknit.live.process import RunningBroker
from reknit.trace.wishes import Wish

WISHES = [
    Wish(10.0, True, "b1", "u1", "cell/1"),
    Wish(10.0, True, "b1", "u2", "cell/1"),
    Wish(11.0, True, "b1", "u1", "cell/2"),
    Wish(12.0, False, "b1", "u1", "cell/1"),
]


async def until(done: Callable[[], bool]) -> None:
    while not done():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def test_clients_want_what_the_stream_says_and_their_events_are_counted(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        told: list[Played] = []
        place = {"b1": ("127.0.0.1", broker.mqtt.port)}
        playing = asyncio.create_task(replay(place, WISHES, Pace(0, hold_s=60), told.append))
        await until(lambda: bool(told) and told[-1].changes == len(WISHES))
        async with connect("127.0.0.1", broker.mqtt.port) as client:
            for topic in ("cell/1", "cell/3", "cell/2"):
                await client.publish(topic, b"", qos=1)
        await until(lambda: told[-1].events >= 2)
        await asyncio.sleep(0.05)
        assert told[-1].events == 2  # u2 wants the first, u1 the last; nobody wants the other any more
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing

    with_broker(play)


def test_the_pace_and_the_counts(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        now = asyncio.get_running_loop().time
        begun = now()
        done = await replay({"b1": ("127.0.0.1", broker.mqtt.port)}, WISHES, Pace(speed=10.0))
        assert now() - begun >= 0.2  # two seconds of the stream, ten times as fast
        assert (done.subscribes, done.unsubscribes, done.clients, done.changes) == (3, 1, 2, 4)
        assert isinstance(done, Played)

    with_broker(play)


def test_what_cannot_be_played_is_said(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        place = {"b1": ("127.0.0.1", broker.mqtt.port)}
        with pytest.raises(BadRequest, match="more than 1 clients"):
            await replay(place, WISHES, Pace(0, clients_max=1))
        with pytest.raises(BadRequest, match="b9"):
            await replay(place, [Wish(0.0, True, "b9", "u1", "a")], Pace(0))
        with pytest.raises(ConnectFailed):
            await replay({"b1": ("127.0.0.1", 1)}, WISHES, Pace(0))

    with_broker(play)
