"""TLS at the clients' door: real handshakes, certificates that name a user, and files that do not fit."""

from __future__ import annotations

import asyncio
import dataclasses
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from reknit.client import connect
from reknit.live.address import Address
from reknit.live.config import MqttSection
from reknit.live.errors import ConfigError
from reknit.live.guard import AccessSection
from reknit.live.process import BrokerPlan, RunningBroker, broker_running
from reknit.live.tls import TlsSection, link_tls, server_context
from tests.live.certificates import Authority

ANY = Address("127.0.0.1", 0)
RULES = '[[rule]]\nuser = "machine"\npublish = ["t"]\nsubscribe = ["t"]\n'


def client_context(authority: Authority, certificate: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.file))
    if certificate is not None:
        context.load_cert_chain(certificate)
    return context


async def echo(at: Address, context: ssl.SSLContext, payload: bytes = b"x") -> bytes:
    """Publish to oneself."""
    async with aiomqtt.Client(*at, tls_context=context, protocol=aiomqtt.ProtocolVersion.V5) as client:
        await client.subscribe("t", 1)
        await client.publish("t", payload, 1)
        async for message in client.messages:
            assert isinstance(message.payload, bytes)
            return message.payload
    raise AssertionError


async def refused(at: Address, context: ssl.SSLContext) -> None:
    """One side does not trust the other."""
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await knock(at, context)


async def knock(at: Address, context: ssl.SSLContext) -> None:
    reader, writer = await asyncio.open_connection(*at, ssl=context)
    try:
        writer.write(b"\x10")
        await writer.drain()
        if not await reader.read():
            raise ConnectionResetError
    finally:
        writer.close()


def test_a_client_is_served_in_tls(plan: Callable[..., BrokerPlan], tmp_path: Path, on_each_loop: Any) -> None:
    authority = Authority(tmp_path)
    tls = TlsSection(str(authority.sign("broker")))

    async def run() -> None:
        async with broker_running(dataclasses.replace(plan(tls=tls), doors={"mqtts": ANY})) as broker:
            large = b"x" * 500_000
            assert await echo(broker.doors["mqtts"], client_context(authority), large) == large
            await refused(broker.doors["mqtts"], ssl.create_default_context())

    on_each_loop(run())


def test_a_certificate_names_the_user(plan: Callable[..., BrokerPlan], tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path), Authority(tmp_path, "stranger")
    tls = TlsSection(str(authority.sign("broker")), client_authorities=str(authority.file))
    rules = tmp_path / "rules.toml"
    rules.write_text(RULES)
    access = AccessSection(anonymous="nobody", rules=str(rules))

    async def run() -> None:
        made = dataclasses.replace(plan(tls=tls, access=access), doors={"mqtts": ANY})
        async with broker_running(made) as broker:
            at = broker.doors["mqtts"]
            assert await echo(at, client_context(authority, authority.sign("machine"))) == b"x"
            for context in (client_context(authority), client_context(authority, stranger.sign("forged"))):
                await refused(at, context)
            with pytest.raises(TimeoutError):  # known, but no rule is for it
                async with asyncio.timeout(1):
                    await echo(at, client_context(authority, authority.sign("other")))

    asyncio.run(run())


def test_a_client_that_begins_no_handshake_is_not_waited_for(
    plan: Callable[..., BrokerPlan], tmp_path: Path, on_each_loop: Any
) -> None:
    tls = TlsSection(str(Authority(tmp_path).sign("broker")))
    mqtt = MqttSection(connect_s_max=0.1)

    async def run() -> None:
        async with broker_running(dataclasses.replace(plan(tls=tls, mqtt=mqtt), doors={"mqtts": ANY})) as broker:
            reader, writer = await asyncio.open_connection(*broker.doors["mqtts"])
            async with asyncio.timeout(30):
                assert await reader.read() == b""
            writer.close()

    on_each_loop(run())


def test_files_that_are_missing_or_do_not_fit_are_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    one, other = authority.sign("one"), authority.sign("other")
    with pytest.raises(ConfigError, match="`certificate` is needed"):
        server_context(TlsSection(), "b1")
    with pytest.raises(ConfigError, match=r"nothing\.pem"):
        server_context(TlsSection(str(tmp_path / "nothing.pem")), "b1")
    with pytest.raises(ConfigError, match=r"one\.pem"):
        server_context(TlsSection(str(one), str(other)), "b1")
    with pytest.raises(ConfigError, match="No such file"):
        server_context(TlsSection(str(one), client_authorities=str(tmp_path / "nothing")), "b1")
    assert server_context(TlsSection(str(one)), "b1").minimum_version is ssl.TLSVersion.TLSv1_2


# --- between brokers


def between(authority: Authority, certificate: str) -> TlsSection:
    return TlsSection(certificate, link_authorities=str(authority.file))


async def linked(broker: RunningBroker) -> bool:
    links = broker.driver.broker.links.of.values()
    return bool(links) and all(link.greeted for link in links)


def test_brokers_are_linked_in_tls_by_their_names(
    plan: Callable[..., BrokerPlan], tmp_path: Path, until: Any, on_each_loop: Any
) -> None:
    authority = Authority(tmp_path)
    for name in ("b1", "b2"):
        authority.sign(name)
    tls = between(authority, str(tmp_path / "{name}.pem"))

    async def run() -> None:
        async with (
            broker_running(plan("b1", {"b2": ""}, tls=tls)) as b1,
            broker_running(plan("b2", {"b1": str(b1.listen)}, tls=tls)) as b2,
        ):
            await until(lambda: linked(b1))
            await until(lambda: linked(b2))
            async with connect(*b1.mqtt) as ann, connect(*b2.mqtt) as ben, ann.subscribe("t", qos=1) as events:
                await until(lambda: bool(b2.driver.broker.routing.table.patterns()))
                await ben.publish("t", b"x" * 300_000, qos=1)
                async for event in events:
                    assert len(event.payload) == 300_000
                    break

    on_each_loop(run())


@pytest.mark.parametrize(
    ("certificate", "why"),
    [
        ("b3", "the certificate names b3, localhost, not b2"),
        ("stranger/b2", "closed by the other end, which may not trust our certificate"),
        (None, "closed by the other end"),
    ],
)
def test_who_cannot_prove_its_name_is_no_neighbour(
    plan: Callable[..., BrokerPlan], tmp_path: Path, until: Any, certificate: str | None, why: str
) -> None:
    (tmp_path / "stranger").mkdir()
    authority, stranger = Authority(tmp_path), Authority(tmp_path / "stranger")
    for name in ("b1", "b3"):
        authority.sign(name)
    stranger.sign("b2")
    lines: list[str] = []

    async def run() -> None:
        theirs = TlsSection() if certificate is None else between(authority, str(tmp_path / f"{certificate}.pem"))
        async with (
            broker_running(plan("b1", {"b2": ""}, tls=between(authority, str(tmp_path / "b1.pem")))) as b1,
            broker_running(plan("b2", {"b1": str(b1.listen)}, tls=theirs), lines.append),
        ):
            await until(lambda: any("b1" in line and why in line for line in lines[2:]))
            assert not await linked(b1)

    asyncio.run(run())


def test_who_answers_with_another_ones_certificate_is_not_talked_to(
    plan: Callable[..., BrokerPlan], tmp_path: Path, until: Any
) -> None:
    authority = Authority(tmp_path)
    for name in ("b2", "b3"):
        authority.sign(name)
    lines: list[str] = []

    async def run() -> None:
        async with (
            broker_running(plan("b1", {"b2": ""}, tls=between(authority, str(tmp_path / "b3.pem")))) as b1,
            broker_running(
                plan("b2", {"b1": str(b1.listen)}, tls=between(authority, str(tmp_path / "b2.pem"))), lines.append
            ),
        ):
            await until(lambda: any("the certificate there names b3" in line for line in lines))
            assert b1.driver.counters.links_accepted == 0 or not await linked(b1)

    asyncio.run(run())


def test_without_tls_brokers_listen_on_this_machine_only_unless_told_otherwise(
    plan: Callable[..., BrokerPlan],
) -> None:
    async def run(tls: TlsSection) -> None:
        async with broker_running(dataclasses.replace(plan(tls=tls), listen=Address("0.0.0.0", 0))):
            pass

    with pytest.raises(ConfigError, match=r"broker b1: listen 0\.0\.0\.0:0: .*link_authorities.*plain_links"):
        asyncio.run(run(TlsSection()))
    asyncio.run(run(TlsSection(plain_links=True)))


def test_links_in_tls_need_a_certificate_of_their_own(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    assert link_tls(TlsSection(), "b1") is None
    with pytest.raises(ConfigError, match="`certificate` is needed"):
        link_tls(TlsSection(link_authorities=str(authority.file)), "b1")
    with pytest.raises(ConfigError, match=r"b1\.pem"):
        link_tls(between(authority, str(tmp_path / "{name}.pem")), "b1")
