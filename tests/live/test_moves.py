"""Two brokers in this process: one is drained, its clients are sent on, and nothing of theirs is cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import httpx

import reknit
from reknit.core.io import Drain
from reknit.core.options import BrokerOptions
from reknit.core.recovery.options import RecoveryOptions
from reknit.live.process import BrokerPlan, RunningBroker, broker_running
from reknit.model.pattern import Pattern
from reknit.mqtt.encode import encode
from reknit.mqtt.packets import V5_0, Connect, Disconnect, Publish, Request, Subscribe, Will
from reknit.mqtt.parser import Parser
from reknit.mqtt.properties import PropertyId, text
from tests.live.speaking import speak

Run = Callable[[Coroutine[Any, Any, None]], None]


async def _linked(b1: RunningBroker, b2: RunningBroker, until: Any) -> None:
    assert (await b2.driver.operations.add_link("b1", str(b1.listen))).error == ""
    await until(lambda: not b1.driver.waiting_for() and not b2.driver.waiting_for())


def test_a_client_reads_where_to_go_however_much_it_has_sent_meanwhile(
    plan: Callable[..., BrokerPlan], on_each_loop: Run, until: Any
) -> None:
    """Its bytes are not read any more; if the socket were closed over them, the reset would take the answer along."""

    async def play() -> None:
        async with broker_running(plan("b1")) as b1, broker_running(plan("b2")) as b2:
            await _linked(b1, b2, until)
            reader, writer = await asyncio.open_connection(*b2.mqtt)
            writer.write(encode(Connect("ann"), V5_0))
            await until(lambda: "ann" in b2.driver.broker.table()["clients"])
            draining = asyncio.create_task(b2.driver.operations.operate(Drain))
            while not reader.at_eof() and not b2.driver.moves.ended.is_set():
                writer.write(encode(Publish("numbers", b"x" * 1000, qos=1, packet_id=7), V5_0))
                await asyncio.sleep(0)
            packets = list(Parser(version=V5_0).feed(await reader.read()))
            assert isinstance(packets[-1], Disconnect)
            assert text(packets[-1].properties, PropertyId.SERVER_REFERENCE) == str(b1.mqtt)
            writer.close()
            assert (await draining).error == ""
            assert b2.driver.moves.ended.is_set()
            assert b1.driver.broker.table()["clients"] == ["ann"]

    on_each_loop(play())


def test_who_says_goodbye_while_its_session_is_on_its_way_has_left(
    plan: Callable[..., BrokerPlan], on_each_loop: Run, until: Any
) -> None:
    """Its session ends where it was, and so does its will; b1 takes its time to answer."""

    async def play() -> None:
        async with broker_running(plan("b1")) as b1, broker_running(plan("b2")) as b2:
            await _linked(b1, b2, until)
            witness = await speak(b1.mqtt, "witness")
            await witness.subscribe("will")
            ann = await speak(b2.mqtt, "ann", expiry_s=0, will=Will("will"))
            ann.say(Subscribe(1, (Request("t", 1),)))
            ann.say(Publish("t", b"", 1, 2))
            await until(lambda: b2.driver.door.queued == 1)  # so its state is not taken before it has answered
            draining = asyncio.create_task(b2.driver.operations.operate(Drain))
            await until(lambda: b2.driver.door.moves.resting)
            [link] = b1.driver.links.values()
            link.transport.pause_reading()
            while not isinstance(packet := await ann.next(), Publish):
                pass
            assert packet.topic == "t"  # and it was acknowledged
            await until(lambda: b2.driver.door.moves.has_taken("ann"))
            await ann.leave()
            await until(lambda: b2.driver.broker.table()["clients"] == [])
            link.transport.resume_reading()
            assert (await draining).error == ""
            await until(lambda: b1.driver.broker.table()["clients"] == ["witness"])
            assert not witness.heard
            await witness.publish("will", "from the witness")
            assert await witness.hears(1) == ["from the witness"]
            await witness.leave()

    on_each_loop(play())


def test_the_python_client_follows_and_its_calls_only_take_longer(
    plan: Callable[..., BrokerPlan], on_each_loop: Run, until: Any
) -> None:
    async def play() -> None:
        async with broker_running(plan("b1")) as b1, broker_running(plan("b2")) as b2:
            await _linked(b1, b2, until)
            async with reknit.connect(*b2.mqtt) as client, client.subscribe("t/#", qos=1) as events:
                sent = asyncio.create_task(_publish(client, 300))
                await asyncio.sleep(0.02)
                assert (await b2.driver.operations.operate(Drain)).error == ""
                async with client.subscribe("u/#") as others:  # asked for where it is now
                    await client.publish("u/1")
                    assert (await anext(others)).topic == "u/1"
                await sent
                assert [int((await anext(events)).payload) for _ in range(300)] == list(range(300))
            await until(lambda: b1.driver.broker.table()["clients"] == [])

    on_each_loop(play())


async def _publish(client: Any, count: int) -> None:
    for number in range(count):
        await client.publish("t/x", str(number), qos=1)


def test_a_new_client_is_sent_on_while_a_broker_is_drained(
    plan: Callable[..., BrokerPlan], on_each_loop: Run, until: Any
) -> None:
    async def play() -> None:
        async with broker_running(plan("b1")) as b1, broker_running(plan("b2")) as b2:
            await _linked(b1, b2, until)
            b2.driver.door.moves.refer(str(b1.mqtt))
            async with reknit.connect(*b2.mqtt, client_id="new"):
                assert b1.driver.broker.table()["clients"] == ["new"]

    on_each_loop(play())


def test_the_operators_door_tells_how_far_it_is(plan: Callable[..., BrokerPlan], on_each_loop: Run, until: Any) -> None:
    async def play() -> None:
        async with broker_running(plan("b1")) as b1, broker_running(plan("b2")) as b2:  # noqa: SIM117
            async with httpx.AsyncClient(base_url=f"http://{b2.admin}", trust_env=False) as http:
                refused = await http.post("/drain")
                assert refused.status_code == 409
                assert "the last broker cannot be drained" in refused.json()["error"]
                await _linked(b1, b2, until)
                assert (await http.get("/drain")).json()["state"] == "none"
                begun = await http.post("/drain")
                assert begun.status_code == 202
                await until(b2.driver.moves.ended.is_set)
                assert (await http.get("/drain")).json()["state"] == "gone"

    on_each_loop(play())


def test_a_session_that_moves_takes_its_wish_for_order_along(
    plan: Callable[..., BrokerPlan], on_each_loop: Run, until: Any
) -> None:
    recovering = BrokerOptions(recovery=RecoveryOptions(algorithm="auto"))

    def wishes(broker: RunningBroker) -> dict[tuple[str, Pattern], float]:
        assert broker.driver.broker.recovery is not None
        return broker.driver.broker.recovery.order.wishes

    async def play() -> None:
        async with (
            broker_running(plan("b1", options=recovering)) as b1,
            broker_running(plan("b2", options=recovering)) as b2,
            reknit.connect(*b2.mqtt, client_id="ann") as ann,
            ann.subscribe("a", where="x > 1", order_s=2.5),
            ann.subscribe("b"),
        ):
            await _linked(b1, b2, until)
            assert wishes(b2) == {("ann", Pattern.parse("a", "x > 1")): 2.5}
            assert (await b2.driver.operations.operate(Drain)).error == ""
            await until(lambda: wishes(b1) == {("ann", Pattern.parse("a", "x > 1")): 2.5})

    on_each_loop(play())
