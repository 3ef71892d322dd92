"""Shared subscriptions in a network of three processes, with clients that somebody else has written."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from bench.durable_load import Publisher, Subscriber
from bench.mortal import mortal
from reknit.live.address import parse_address
from reknit.live.config import NetworkFile, NetworkSection
from reknit.live.network import Network
from reknit.live.plan import plan_network
from tests.ports import ports_in_a_row

EVENTS = 60


class Member:
    """A client of paho's that shares ``t/#`` with the others, and acknowledges all that it gets."""

    def __init__(self, name: str, mqtt: str, version: MQTTProtocolVersion, group: str = "g") -> None:
        self.name = name
        self.got: list[bytes] = []
        self.ready = threading.Event()
        self.client = paho.Client(CallbackAPIVersion.VERSION2, name, protocol=version)
        self.client.on_subscribe = lambda *_: self.ready.set()
        self.client.on_message = lambda _client, _data, message: self.got.append(message.payload)
        self._come(mqtt, version)
        self.client.subscribe(f"$share/{group}/t/#", qos=1)

    def _come(self, mqtt: str, version: MQTTProtocolVersion) -> None:
        terms: dict[str, Any] = {}
        if version is MQTTProtocolVersion.MQTTv5:
            terms["properties"] = Properties(PacketTypes.CONNECT)
            terms["properties"].SessionExpiryInterval = 60
        at = parse_address(mqtt)
        self.client.connect(at.host, at.port, **terms)
        self.client.loop_start()

    def go(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


async def _members(http: httpx.AsyncClient, admins: list[str], present: int) -> bool:
    """Whether every broker knows of so many that are there."""
    tables = [(await http.get(admin + "/table")).json() for admin in admins]
    return all(sum(each["present"] for each in table["groups"]) == present for table in tables)


@pytest.mark.parametrize("version", [MQTTProtocolVersion.MQTTv5, MQTTProtocolVersion.MQTTv311])
def test_one_member_in_the_whole_network_gets_each_event(
    version: MQTTProtocolVersion, tmp_path: Path, until: Any
) -> None:
    port = ports_in_a_row(3)
    plan = plan_network(NetworkFile(network=NetworkSection(brokers=3, mqtt_base_port=port)))

    async def play() -> None:
        async with Network(plan, tmp_path) as network, httpx.AsyncClient(trust_env=False) as http:
            brokers = network.state.brokers
            admins = [broker.admin for broker in brokers]
            members = [Member(f"m{each.name}", each.mqtt, version) for each in brokers]
            publisher = Member("pub", brokers[0].mqtt, version, "another")
            await until(lambda: _members(http, admins, 4))
            _publish(publisher, 0)
            await until(lambda: _count(members) == EVENTS)
            assert [len(each.got) for each in members] == [EVENTS // 3] * 3
            members[0].go()
            await until(lambda: _members(http, admins, 3))
            _publish(publisher, EVENTS)
            await until(lambda: _count(members) == 2 * EVENTS)
            await asyncio.to_thread(time.sleep, 0.2)  # a copy would have come by now
            assert Counter(payload for each in members for payload in each.got) == Counter(map(_payload, range(120)))
            for each in (*members[1:], publisher):
                each.go()

    asyncio.run(play())


def test_members_and_what_they_were_given_outlive_brokers_that_are_killed(tmp_path: Path) -> None:
    """Two brokers with stores, a member at each, and a publisher: at QoS 2 every event comes once, whoever dies."""
    states = [["--state", str(tmp_path / f"{name}.json")] for name in ("b1", "b2")]
    with contextlib.ExitStack() as lives:
        one = lives.enter_context(mortal(tmp_path, "b1", [*states[0], "--expect", "b2"]))
        link = f"b1=127.0.0.1:{one.links}"
        two = lives.enter_context(mortal(tmp_path, "b2", [*states[1], "--link", link]))
        members = [Subscriber(each.port, each.name, "$share/g/t", 2) for each in (one, two)]
        for each in members:
            each.start()
            assert each.subscribed.wait(30)
        _until(lambda: all(_known(each.admin) == {"b1": 1, "b2": 1} for each in (one, two)))
        publisher = Publisher(one.port, "p", "t", 2)
        publisher.start()
        for victim in (two, one, two, one):
            before = len(publisher.acknowledged)
            while len(publisher.acknowledged) < before + 200:
                time.sleep(0.01)
            victim.kill()
            victim.start()
        _until(lambda: all(_known(each.admin) == {"b1": 1, "b2": 1} for each in (one, two)))
        had = [len(each.received) for each in members]
        _until(lambda: all(len(each.received) > known for each, known in zip(members, had, strict=True)))
        publisher.paused.set()
        _until(lambda: publisher.settled and set(publisher.acknowledged) <= _union(members))
        for client in (publisher, *members):
            client.end()
    assert publisher.lost + sum(each.lost for each in members) == 0
    assert max(Counter(number for each in members for number in each.received).values()) == 1


def _until(true: Callable[[], bool]) -> None:
    """The test's own time limit is the only one."""
    while not true():
        time.sleep(0.02)


def _union(members: list[Subscriber]) -> set[int]:
    return {number for each in members for number in each.received}


def _known(admin: str) -> dict[str, int]:
    """By broker, the members that are there, as this one knows it."""
    try:
        groups = httpx.get(admin + "/table", trust_env=False).json()["groups"]
    except httpx.TransportError:  # it is not there yet
        return {}
    return {each["broker"]: each["present"] for each in groups}


def _payload(number: int) -> bytes:
    return b"%d" % number


def _publish(publisher: Member, first: int) -> None:
    for number in range(first, first + EVENTS):
        publisher.client.publish("t/x", _payload(number), qos=1)


def _count(members: list[Member]) -> int:
    return sum(len(each.got) for each in members)
