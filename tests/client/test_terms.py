"""The terms of a connection, at a broker that serves."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from reknit.client import BadRequest, ConnectFailed, Terms, Will, connect
from reknit.live.address import Address
from reknit.live.config import Settings
from reknit.live.guard import AccessSection
from reknit.live.passwords import set_password
from reknit.live.process import BrokerPlan, RunningBroker, broker_running
from reknit.live.tls import TlsSection
from tests.live.certificates import Authority

ANY = Address("127.0.0.1", 0)


def test_a_name_and_a_password_over_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate = authority.sign("broker")
    set_password(tmp_path / "passwords", "ann", "opensesame")
    settings = Settings(
        access=AccessSection(anonymous="nobody", passwords=str(tmp_path / "passwords")),
        tls=TlsSection(certificate=str(certificate)),
    )

    async def run() -> None:
        plan = BrokerPlan("b1", ANY, ANY, doors={"mqtts": ANY}, settings=settings)
        async with broker_running(plan) as broker:
            context = ssl.create_default_context(cafile=str(authority.file))
            where = broker.doors["mqtts"]
            for password, good in (("opensesame", True), ("wrong", False)):
                terms = Terms(username="ann", password=password, tls=context)
                assert password not in repr(terms)
                try:
                    async with connect(*where, terms=terms) as client, client.subscribe("t", qos=2) as events:
                        await client.publish("t", b"x", qos=2, retain=True)
                        event = await anext(events)
                        assert (event.payload, event.qos, event.retain) == (b"x", 2, False)
                        assert good
                except ConnectFailed:
                    assert not good

    asyncio.run(run())


@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_a_session_stays_and_everything_of_it_is_taken(with_broker: Callable[..., None], version: str) -> None:
    async def play(broker: RunningBroker) -> None:
        terms = Terms(version=version, clean=False, session_expiry_s=60 if version == "5" else 0)  # type: ignore[arg-type]
        first = connect(*broker.mqtt, client_id="me", terms=terms)
        events = first.everything("a", "b", qos=1)
        async with first, events:
            assert first.identifier == "me"
        async with connect(*broker.mqtt) as other:
            for topic in "ab":
                await other.publish(topic, topic, qos=1)
        again = connect(*broker.mqtt, client_id="me", terms=terms)
        events = again.everything("a")
        async with again, events:
            assert [(await anext(events)).payload for _ in range(2)] == [b"a", b"b"]
            await again.unsubscribe("b")

    with_broker(play)


def test_a_will(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        will = Will("gone", b"me", qos=1, properties=(("user-property", ("why", "cut")),))
        async with connect(*broker.mqtt) as other, other.subscribe("gone", qos=1) as events:
            async with connect(*broker.mqtt, terms=Terms(will=will)):
                for client in list(broker.driver.clients.values())[1:]:
                    client.transport.abort()
                event = await anext(events)
            assert (event.payload, event.qos, event.attributes) == (b"me", 1, {"why": "cut"})

    with_broker(play)


def test_what_does_not_go_together() -> None:
    for terms in (
        Terms(version="3.1.1", session_expiry_s=1),
        Terms(version="3.1.1", properties=(("receive-maximum", 3),)),
        Terms(version="3.1", will=Will("t", properties=(("will-delay-interval", 3),))),
    ):
        with pytest.raises(BadRequest, match="has no properties"):
            connect(terms=terms)


def test_an_older_version_has_no_selectors(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt, terms=Terms(version="3.1.1", nodelay=True)) as client:
            with pytest.raises(BadRequest, match="no selectors"):
                client.subscribe("t", where="a > 1")
            with pytest.raises(BadRequest, match="no attributes"):
                await client.publish("t", a=1)
            async with client.subscribe("t") as events:
                await client.publish("t", b"x")
                assert (await anext(events)).payload == b"x"

    with_broker(play)
