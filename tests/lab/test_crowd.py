"""A crowd on real brokers: what is counted on its links, and which copies of events were of no use."""

from __future__ import annotations

import random

import pytest

from reknit.core.routing.table import client
from reknit.lab.crowd import Crowd, Needless, needless_copies
from reknit.lab.population import draw_population
from reknit.lab.scenarios import NotSettled
from reknit.model.event import Event
from reknit.trace.records import Kind, Record
from reknit.wire.codec import encode


def crowd(seed: int = 1) -> Crowd:
    return Crowd(draw_population(8, 5, 20, random.Random(seed)), "subscription-forwarding", str(seed))


def test_in_silence_links_carry_nothing() -> None:
    quiet = crowd()
    before = quiet.cluster.network.traffic.bytes
    quiet.run(10.0)
    assert quiet.cluster.network.traffic.bytes == before
    assert not quiet.heard.messages


def test_each_client_publishes_once_in_a_period_until_told_to_stop() -> None:
    busy = crowd()
    busy.publish_every(0.5)
    busy.run(2.0)
    assert busy.published == 8 * 4
    assert busy.heard.messages["Events"] > 0
    busy.publish_no_more()
    busy.run(2.0)
    assert busy.published == 8 * 4


def test_at_rest_no_copy_is_needless() -> None:
    busy = crowd()
    busy.publish_every(0.05)
    busy.run(2.0)
    busy.publish_no_more()
    busy.run(1.0)
    assert sum(record.kind is Kind.FORWARDED for record in busy.cluster.records) > 100
    assert needless_copies(busy.cluster.records) == Needless(0, 0)


def test_a_copy_is_needless_that_nobody_gets_or_that_has_come_before() -> None:
    event = Event("news", b"", {}, source="a.1", seq=1)
    size = len(encode(event))

    def hop(node: str, peer: str) -> Record:
        return Record(0.0, node, Kind.FORWARDED, peer=peer, event=event)

    delivered = Record(0.0, "b", Kind.DELIVERED, client="c", event=event)
    assert needless_copies([hop("a", "b"), delivered]) == Needless(0, 0)
    assert needless_copies([hop("a", "b"), hop("b", "c"), delivered]) == Needless(1, size)
    assert needless_copies([hop("a", "b"), hop("c", "b"), delivered]) == Needless(1, size)


def test_all_subscriptions_of_a_client_are_there_however_many() -> None:
    many = Crowd(draw_population(4, 600, 1000, random.Random(1)), "subscription-forwarding", "1")
    for name, home in many.homes.items():
        broker = many.cluster.nodes[home].broker
        assert broker is not None
        assert len(list(broker.routing.table.of(client(name)))) == 600


def test_what_is_refused_is_no_measurement() -> None:
    some = crowd()
    with pytest.raises(NotSettled, match="three different brokers"):
        some.await_reply(some.cluster.swap("b1", "b1", "b1"))
