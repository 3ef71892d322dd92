"""Live brokers as members of communities: clients and peers exchange events, each once, and nothing unwanted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import reknit
from reknit.client import connect
from reknit.live.communities import CommunitiesSection
from reknit.live.peers.member import LivePeer, PeerEvent
from reknit.live.peers.trial import brisk
from reknit.live.process import BrokerPlan, RunningBroker, broker_running

Plan = Callable[..., BrokerPlan]


async def a_member(undo: AsyncExitStack, contact: str, topic: str, got: list[PeerEvent]) -> LivePeer:
    each = await undo.enter_async_context(reknit.peer(contacts=[contact], options=brisk(4)))
    each.subscribe(topic, callback=got.append)
    return each


def both_know(one: RunningBroker, other: RunningBroker) -> bool:
    assert one.gateway is not None
    assert other.gateway is not None
    return bool(one.gateway.gateway._others and other.gateway.gateway._others)


def test_two_brokers_and_peers_exchange_events_each_once(plan: Plan, until: Callable[..., Any]) -> None:
    async def play() -> None:
        async with AsyncExitStack() as undo:
            section = CommunitiesSection(topics=("soccer",))
            b1 = await undo.enter_async_context(broker_running(plan("b1", {"b2": ""}, communities=section)))
            assert b1.gateway is not None
            contact = b1.gateway.member.address
            section = CommunitiesSection(topics=("soccer/italy",), contacts=(contact,))
            second = plan("b2", {"b1": str(b1.listen)}, communities=section)
            b2 = await undo.enter_async_context(broker_running(second))
            assert b2.gateway is not None
            await until(lambda: both_know(b1, b2))
            italian: list[PeerEvent] = []
            french: list[PeerEvent] = []
            peer = await a_member(undo, contact, "soccer/italy", italian)
            elsewhere = await a_member(undo, contact, "soccer/france", french)
            await until(lambda: len(peer.core.communities["soccer/italy"].membership.view) > 0)
            await until(lambda: any(table.entries for table in peer.core.communities["soccer/italy"].supers))
            ann = await undo.enter_async_context(connect("127.0.0.1", b1.mqtt.port))
            bob = await undo.enter_async_context(connect("127.0.0.1", b2.mqtt.port))
            at_one = await undo.enter_async_context(ann.subscribe("soccer/#"))
            at_other = await undo.enter_async_context(bob.subscribe("soccer/+"))
            await ann.publish("soccer/italy", b"from brokers", minute=3, qos=1)
            await ann.publish("tennis", b"of no community", qos=1)
            await until(lambda: len(italian) == 1)
            assert (italian[0].payload, italian[0].attributes["minute"]) == (b"from brokers", 3)
            assert not any(name.startswith("reknit-") for name in italian[0].attributes)
            await peer.publish("soccer/italy", b"from peers", minute=4)
            for events in (at_one, at_other):
                found = [await anext(events), await anext(events)]
                assert [event.payload for event in found] == [b"from brokers", b"from peers"]
                assert found[1].attributes["minute"] == 4
            await ann.publish("soccer/france", b"the last", qos=1)
            await until(lambda: len(french) == 1)
            assert [event.payload for event in french] == [b"the last"]
            assert [event.payload for event in italian] == [b"from brokers", b"from peers"]
            assert [(await anext(events)).payload for events in (at_one, at_other)] == [b"the last"] * 2
            for member in (peer, elsewhere, b1.gateway.member, b2.gateway.member):
                assert (member.counters.get("strays", 0), member.counters.get("misled", 0)) == (0, 0)
            assert b2.gateway.gateway.counters["to_brokers"] == 0, "b1 is the first by name"

    asyncio.run(play())


def test_a_broker_without_topics_is_no_member(plan: Plan) -> None:
    async def play() -> None:
        async with broker_running(plan()) as broker:
            assert broker.gateway is None

    asyncio.run(play())
