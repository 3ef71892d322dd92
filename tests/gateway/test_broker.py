"""A broker with an inner client: what is for it is put aside, others notice nothing, and a drain goes without it."""

from __future__ import annotations

import random

from reknit.core.broker import BrokerOptions
from reknit.core.io import Attach, Deliver, Drain, Publish, Subscribe
from reknit.gateway.broker import MemberBroker
from reknit.model.event import Event
from reknit.model.pattern import Pattern

PATTERNS = (Pattern("soccer/#"),)


def a_broker(aside: list[Event]) -> MemberBroker:
    broker = MemberBroker("b1", 1, BrokerOptions(), random.Random(1))
    broker.enter("$inner", aside)
    for client in ("$inner", "ann"):
        broker.handle(Attach(client), 0.0)
        broker.handle(Subscribe(client, PATTERNS), 0.0)
    return broker


def delivered(broker: MemberBroker, topic: str) -> list[list[str]]:
    effects = broker.handle(Publish("bob", [Event(topic)]), 1.0)
    return [[match[0] for match in each.matches] for each in effects if isinstance(each, Deliver)]


def test_what_is_for_it_is_put_aside() -> None:
    aside: list[Event] = []
    broker = a_broker(aside)
    assert delivered(broker, "soccer/italy") == [["ann"]]
    assert delivered(broker, "tennis") == []
    assert [event.topic for event in aside] == ["soccer/italy"]


def test_before_a_drain_it_leaves() -> None:
    aside: list[Event] = []
    broker = a_broker(aside)
    broker.handle(Drain(1), 2.0)
    assert broker.inner == ""
    assert delivered(broker, "soccer/italy") == [["ann"]]
    assert aside == []
