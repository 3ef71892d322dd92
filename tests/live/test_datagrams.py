"""Links and answers on UDP: two brokers with a proxy between them that loses events, and all come back."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Callable
from typing import Any

import pytest

from reknit.core.broker import BrokerOptions
from reknit.core.io import Attach, Publish, Subscribe
from reknit.core.links.options import LinkOptions
from reknit.core.recovery.options import RecoveryOptions
from reknit.live.config import TlsSection
from reknit.live.errors import ConfigError
from reknit.live.faults import Harm, fault_proxy
from reknit.live.process import BrokerPlan, RunningBroker, broker_running
from reknit.model.event import Event
from reknit.model.pattern import Pattern

LOOSE = BrokerOptions(
    links=LinkOptions(loose=True, retransmit_s=0.1),
    recovery=RecoveryOptions(algorithm="combined", gossip_s=0.05, again_s=0.1, heartbeat_s=0.2),
)


def up(broker: RunningBroker, peer: str) -> bool:
    return bool(broker.driver.broker.table()["neighbours"].get(peer, {}).get("up"))


def figures(broker: RunningBroker) -> dict[str, Any]:
    found: dict[str, Any] = broker.driver.broker.table()["recovery"]
    return found


def watch(broker: RunningBroker, topic: str) -> list[bytes]:
    """A client that wants the topic; what it gets is put into the list."""
    got: list[bytes] = []
    broker.driver.door.deliver = lambda effect, now: got.append(effect.event.payload)  # type: ignore[method-assign]
    broker.driver._turn(Attach("watcher"))
    broker.driver._turn(Subscribe("watcher", (Pattern.parse(topic),)))
    return got


def wants(broker: RunningBroker, topic: str) -> bool:
    return any(each["topic"] == topic for each in broker.driver.broker.table()["entries"])


def test_events_that_a_link_of_datagrams_loses_come_back(
    plan: Callable[..., BrokerPlan], until: Any, on_each_loop: Any
) -> None:
    async def run() -> None:
        async with (
            broker_running(plan("b1", options=LOOSE)) as b1,
            fault_proxy(b1.listen, Harm(loss=0.2, duplication=0.1, delay_s_max=0.01), "1") as proxy,
            broker_running(plan("b2", {"b1": str(proxy.address)}, options=LOOSE)) as b2,
        ):
            await until(lambda: up(b1, "b2") and up(b2, "b1"))
            got = watch(b2, "a")
            await until(lambda: wants(b1, "a"))
            sent = [str(number).encode() for number in range(200)]
            for payload in sent:
                b1.driver._turn(Publish("pam", [Event("a", payload)]))
                await asyncio.sleep(0.002)
            await until(lambda: len(got) >= len(sent))
            assert sorted(got) == sorted(sent)  # each once
            assert figures(b2)["recovered"] > 10
            assert proxy.lost > 10
            assert b1.driver.counters.failures == b2.driver.counters.failures == 0

    on_each_loop(run())


def test_a_black_hole_is_found_by_silence_and_the_link_comes_back(
    plan: Callable[..., BrokerPlan], until: Any, on_each_loop: Any
) -> None:
    links = LinkOptions(loose=True, retransmit_s=0.1, silence_s_max=0.6, heartbeat_s=0.2, dial_s_max=0.2)
    options = BrokerOptions(links=links, recovery=RecoveryOptions(algorithm="combined", heartbeat_s=0.2))

    async def run() -> None:
        async with (
            broker_running(plan("b1", options=options)) as b1,
            fault_proxy(b1.listen, Harm(), "1") as proxy,
            broker_running(plan("b2", {"b1": str(proxy.address)}, options=options)) as b2,
        ):
            await until(lambda: up(b1, "b2") and up(b2, "b1"))
            proxy.harm = Harm(black_hole=True)
            await until(lambda: not up(b1, "b2") and not up(b2, "b1"))
            proxy.harm = Harm()
            await until(lambda: up(b1, "b2") and up(b2, "b1"))

    on_each_loop(run())


def test_nonsense_on_the_port_harms_nobody_and_is_answered_with_little(
    plan: Callable[..., BrokerPlan], until: Any, on_each_loop: Any
) -> None:
    chance = random.Random(7)

    async def run() -> None:
        async with broker_running(plan("b1", options=LOOSE)) as b1:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                stranger.setblocking(False)
                for kind in (b"", b"\x00", b"\x01", b"\x02"):
                    for _ in range(30):
                        stranger.sendto(kind + chance.randbytes(chance.randrange(200)), tuple(b1.listen))
                await until(lambda: figures(b1)["malformed"] >= 30)
                with pytest.raises(BlockingIOError):
                    stranger.recv(65_536)
            assert b1.driver.counters.failures == 0

    on_each_loop(run())


def test_datagrams_do_not_go_with_tls_and_need_to_be_sent_again(plan: Callable[..., BrokerPlan]) -> None:
    async def start(which: BrokerPlan) -> None:
        async with broker_running(which):
            raise AssertionError("it has started")

    secure = TlsSection(link_authorities="ca.pem")
    with pytest.raises(ConfigError, match="datagrams are not in TLS"):
        asyncio.run(start(plan("b1", options=LOOSE, tls=secure)))
    with pytest.raises(ConfigError, match=r"needs options\.links\.retransmit_s"):
        asyncio.run(start(plan("b1", options=BrokerOptions(links=LinkOptions(loose=True)))))
