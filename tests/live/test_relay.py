"""A client is at home at one broker, and served there wherever it comes: through real sockets, and in processes."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from reknit.core.homes.homes import Home
from reknit.core.io import Drain
from reknit.live.address import Address, parse_address
from reknit.live.config import MqttSection, NetworkFile, NetworkSection, StoreSection
from reknit.live.guard import AccessSection
from reknit.live.network import Network
from reknit.live.passwords import set_password
from reknit.live.plan import plan_network
from reknit.live.process import BrokerPlan, RunningBroker, broker_running
from reknit.live.relay import PREFACE, PREFACE_BYTES_MAX, BadPreface, Preface, read_preface
from reknit.live.tls import TlsSection
from reknit.mqtt.packets import Pingreq, Pingresp
from reknit.mqtt.reasons import Reason
from tests.live.certificates import Authority
from tests.live.conftest import Until
from tests.live.speaking import Client, Refused, speak
from tests.ports import ports_in_a_row


@contextlib.asynccontextmanager
async def pair(plan: Callable[..., BrokerPlan], **settings: Any) -> AsyncIterator[tuple[RunningBroker, RunningBroker]]:
    async with (
        broker_running(plan("b1", {"b2": ""}, **settings)) as b1,
        broker_running(plan("b2", {"b1": str(b1.listen)}, **settings)) as b2,
    ):
        yield b1, b2


async def known(until: Until, at: RunningBroker, client: str, home: str = "b1") -> None:
    """The home of this client is known at this broker."""

    def true() -> bool:
        found = at.driver.broker.homes.elsewhere(client)
        return found is not None and found.broker == home

    await until(true)


def test_a_second_connection_anywhere_takes_the_session_over_with_its_queue(
    plan: Callable[..., BrokerPlan], until: Until, on_each_loop: Callable[..., None]
) -> None:
    async def play() -> None:
        async with pair(plan) as (b1, b2):
            first = await speak(b1.mqtt, "ann")
            await first.subscribe("t")
            await known(until, b2, "ann")
            second = await speak(b2.mqtt, "ann")
            assert second.present
            assert await first.until_end() == Reason.SESSION_TAKEN_OVER
            second.say(Pingreq())
            await second.answer(Pingresp)
            second.die()
            ben = await speak(b2.mqtt, "ben")
            await until(lambda: b1.driver.door.counters.clients == 0)
            for number in range(20):
                await ben.publish("t", str(number))
            third = await speak(b2.mqtt, "ann")
            assert await third.hears(20) == [str(number) for number in range(20)]
            fourth = await speak(b1.mqtt, "ann")
            assert fourth.present
            assert await third.until_end() == Reason.SESSION_TAKEN_OVER
            assert b2.driver.relays.served == 2
            assert list(b1.driver.broker.sessions.clients) == ["ann"]
            assert list(b2.driver.broker.sessions.clients) == ["ben"]
            await fourth.leave()
            await ben.leave()

    on_each_loop(play())


def test_a_clean_start_anywhere_ends_the_session_that_there_was(plan: Callable[..., BrokerPlan], until: Until) -> None:
    async def play() -> None:
        async with pair(plan) as (b1, b2):
            first = await speak(b1.mqtt, "ann")
            await first.subscribe("t")
            await known(until, b2, "ann")
            second = await speak(b2.mqtt, "ann", clean=True, expiry_s=0)
            assert not second.present
            assert await first.until_end() == Reason.SESSION_TAKEN_OVER
            await second.leave()
            await until(lambda: b2.driver.broker.homes.elsewhere("ann") is None)
            third = await speak(b2.mqtt, "ann")
            assert not third.present
            assert list(b2.driver.broker.sessions.clients) == ["ann"]
            await third.leave()

    asyncio.run(play())


def test_much_is_passed_on_both_ways_at_the_slower_ones_pace(plan: Callable[..., BrokerPlan], until: Until) -> None:
    async def play() -> None:
        async with pair(plan) as (b1, b2):
            await (await speak(b1.mqtt, "ann")).leave()
            await known(until, b2, "ann")
            ann = await speak(b2.mqtt, "ann")
            await ann.subscribe("t")
            payload = "x" * 100_000
            for _ in range(100):
                await ann.publish("t", payload)
            assert await ann.hears(100) == [payload] * 100
            await ann.leave()

    asyncio.run(play())


def test_who_it_is_was_asked_where_it_came(plan: Callable[..., BrokerPlan], until: Until, tmp_path: Path) -> None:
    """Its password is checked there; its session is its own at home, too."""
    set_password(tmp_path / "passwords", "ann", "secret")
    set_password(tmp_path / "passwords", "ben", "another")
    access = AccessSection(anonymous="nobody", passwords=str(tmp_path / "passwords"))

    async def play() -> None:
        async with pair(plan, access=access) as (b1, b2):
            first = await speak(b1.mqtt, "c", username="ann", password=b"secret")
            await known(until, b2, "c")
            with pytest.raises(Refused, match=str(int(Reason.BAD_CREDENTIALS))):
                await speak(b2.mqtt, "c", username="ann", password=b"wrong")
            with pytest.raises(Refused, match=str(int(Reason.NOT_AUTHORIZED))):
                await speak(b2.mqtt, "c", username="ben", password=b"another")
            second = await speak(b2.mqtt, "c", username="ann", password=b"secret")
            assert second.present
            assert await first.until_end() == Reason.SESSION_TAKEN_OVER
            await second.leave()

    asyncio.run(play())


def test_where_links_are_in_tls_so_is_the_way_to_its_home(
    plan: Callable[..., BrokerPlan], until: Until, tmp_path: Path, on_each_loop: Callable[..., None]
) -> None:
    """And a broker whose certificate names another one is nobody's home."""
    authority = Authority(tmp_path)
    for name in ("b1", "b2"):
        authority.sign(name)
    tls = TlsSection(str(tmp_path / "{name}.pem"), link_authorities=str(authority.file))

    async def play() -> None:
        async with pair(plan, tls=tls, mqtt=MqttSection(home_s_max=1.0)) as (b1, b2):
            first = await speak(b1.mqtt, "ann")
            await known(until, b2, "ann")
            second = await speak(b2.mqtt, "ann")
            assert second.present
            assert await first.until_end() == Reason.SESSION_TAKEN_OVER
            for _ in range(3):
                await second.publish("t", "x" * 300_000)
            await second.leave()
            b2.driver.broker.homes._of["ann"] = Home("b3", str(b1.listen))
            with pytest.raises(Refused, match=str(int(Reason.SERVER_BUSY))):
                await speak(b2.mqtt, "ann")

    on_each_loop(play())


def test_of_two_that_begin_at_once_one_is_left(plan: Callable[..., BrokerPlan], until: Until) -> None:
    async def play() -> None:
        async with pair(plan) as (b1, b2):
            both = await asyncio.gather(speak(b1.mqtt, "ann"), speak(b2.mqtt, "ann"))
            ends = [asyncio.create_task(each.until_end()) for each in both]
            done, left = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            assert [each.result() for each in done] == [Reason.SESSION_TAKEN_OVER]
            await until(lambda: sum("ann" in each.driver.broker.sessions.clients for each in (b1, b2)) == 1)
            for each in both:
                each.die()
            await asyncio.wait(left)

    asyncio.run(play())


def test_a_home_that_is_away_is_waited_for_and_then_done_without(
    plan: Callable[..., BrokerPlan], until: Until, tmp_path: Path
) -> None:
    """And when it is back, with its store, it gives way."""
    quick = MqttSection(home_s_max=0.3, home_lost_s=0.5)

    def stored(name: str, neighbours: dict[str, str]) -> BrokerPlan:
        return plan(name, neighbours, mqtt=quick, store=StoreSection(str(tmp_path / name)))

    async def play() -> None:
        async with contextlib.AsyncExitStack() as lives:
            first = await lives.enter_async_context(contextlib.AsyncExitStack())
            b1 = await first.enter_async_context(broker_running(stored("b1", {"b2": ""})))
            b2 = await lives.enter_async_context(broker_running(stored("b2", {"b1": str(b1.listen)})))
            ann = await speak(b1.mqtt, "ann")
            await ann.subscribe("t")
            await ann.leave()
            await known(until, b2, "ann")
            await first.aclose()
            with pytest.raises(Refused, match=str(int(Reason.SERVER_BUSY))):
                await speak(b2.mqtt, "ann")
            await asyncio.sleep(0.5)
            anew = await speak(b2.mqtt, "ann")
            assert not anew.present
            back = await lives.enter_async_context(broker_running(_at(stored("b1", {"b2": ""}), b1)))
            assert "ann" in back.driver.broker.sessions.clients
            await until(lambda: "ann" not in back.driver.broker.sessions.clients)
            assert list(b2.driver.broker.sessions.clients) == ["ann"]
            anew.say(Pingreq())
            await anew.answer(Pingresp)
            await anew.leave()

    asyncio.run(play())


def _at(plan: BrokerPlan, before: RunningBroker) -> BrokerPlan:
    """At the addresses of its former life."""
    return dataclasses.replace(plan, listen=before.listen, mqtt=before.mqtt)


def test_a_session_that_was_drained_is_at_home_where_it_is(plan: Callable[..., BrokerPlan], until: Until) -> None:
    async def play() -> None:
        async with (
            broker_running(plan("b1", {"b2": ""})) as b1,
            broker_running(plan("b2", {"b1": str(b1.listen), "b3": ""})) as b2,
            broker_running(plan("b3", {"b2": str(b2.listen)})) as b3,
        ):
            ann = await speak(b3.mqtt, "ann")
            await ann.subscribe("t")
            await ann.leave()
            await known(until, b1, "ann", "b3")
            asyncio.ensure_future(b3.driver.operations.operate(Drain)).add_done_callback(lambda done: done.cancelled())
            await b3.driver.moves.ended.wait()
            await known(until, b1, "ann", "b2")
            again = await speak(b1.mqtt, "ann")
            assert again.present
            await again.leave()

    asyncio.run(play())


def test_without_unique_ids_each_broker_has_clients_of_its_own(plan: Callable[..., BrokerPlan]) -> None:
    async def play() -> None:
        async with pair(plan, mqtt=MqttSection(unique_ids=False)) as (b1, b2):
            both = [await speak(each.mqtt, "ann") for each in (b1, b2)]
            assert len(b1.driver.broker.book) == 0
            for each in both:
                each.say(Pingreq())
                await each.answer(Pingresp)
                await each.leave()

    asyncio.run(play())


# --- prefaces


def test_a_preface_says_who_and_where_and_may_come_in_pieces() -> None:
    whole = Preface("ann", "192.0.2.1").written() + b"\x10rest"
    for cut in range(len(whole) - 5):
        assert read_preface(whole[:cut]) is None
    assert read_preface(whole) == (Preface("ann", "192.0.2.1"), b"\x10rest")


@pytest.mark.parametrize(
    "data", [b"x", b"reknit-relay 2 ", b"reknit\n", PREFACE + b"{}\n", PREFACE + b"x" * PREFACE_BYTES_MAX]
)
def test_what_is_no_preface_is_refused(data: bytes) -> None:
    with pytest.raises(BadPreface):
        read_preface(data)


def test_who_brings_no_client_or_brings_one_to_where_links_are_is_cut_off(plan: Callable[..., BrokerPlan]) -> None:
    async def play() -> None:
        async with broker_running(plan()) as running:
            for place, (door, said) in enumerate(
                [(running.doors["relay"], PREFACE + b"no\n"), (running.listen, Preface("ann", "h").written())]
            ):
                reader, writer = await asyncio.open_connection(*door)
                writer.write(said)
                with contextlib.suppress(ConnectionError):
                    assert await reader.read() == b""
                writer.close()
                assert running.driver.counters.link_frames_refused == place + 1
            assert running.driver.counters.clients_accepted == 0

    asyncio.run(play())


# --- processes


def test_in_three_processes_a_session_outlives_each_way_to_it(tmp_path: Path, until: Until) -> None:
    """The client goes round; its home stays b1. A home that hangs costs it one refusal."""
    section = NetworkSection(brokers=3, mqtt_base_port=ports_in_a_row(3))
    plan = plan_network(NetworkFile(network=section, mqtt=MqttSection(home_s_max=1.0)))

    async def comes(at: Address) -> Client:
        while True:
            with contextlib.suppress(Refused):
                return await speak(at, "ann")
            await asyncio.sleep(0.1)

    async def play() -> None:
        async with Network(plan, tmp_path) as network, httpx.AsyncClient(trust_env=False) as http:
            doors = [parse_address(each.mqtt) for each in network.state.brokers]
            ann = await speak(doors[0], "ann")
            await ann.subscribe("t")
            ben = await speak(doors[1], "ben")
            await until(lambda: _wanted(http, network.state.brokers[1].admin))
            for number, at in enumerate((*doors[1:], *doors)):
                before, ann = ann, await speak(at, "ann")
                assert ann.present
                assert await before.until_end() == Reason.SESSION_TAKEN_OVER
                await ben.publish("t", str(number))
                while (got := [payload for payload, _ in ann.heard])[-1:] != [str(number)]:
                    await ann.next()
                assert got in ([str(number)], [str(number - 1), str(number)])  # its acknowledgement was on the way
            pid = network.state.brokers[0].pid
            os.kill(pid, signal.SIGSTOP)
            try:
                with pytest.raises(Refused, match=str(int(Reason.SERVER_BUSY))):
                    await speak(doors[1], "ann")
            finally:
                os.kill(pid, signal.SIGCONT)
            ann.die()
            last = await comes(doors[1])
            assert last.present
            last.die()
            ben.die()
            await asyncio.sleep(0)

    asyncio.run(play())


async def _wanted(http: httpx.AsyncClient, admin: str) -> bool:
    return bool((await http.get(admin + "/table")).json()["entries"])
