"""Peers from Python: communities on real sockets, with selectors, callbacks, large events, and bad input."""

from __future__ import annotations

import asyncio
import socket
from array import array
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

import reknit
from reknit.community.options import CourierOptions, PeerOptions
from reknit.community.peer import TooMany
from reknit.live.errors import ConfigError
from reknit.live.peers import member
from reknit.live.peers.member import FellBehind, LivePeer, PeerClosed, PeerEvent, TooLarge
from reknit.live.peers.trial import brisk
from reknit.model.errors import BadPattern
from reknit.model.event import Event
from reknit.wire.peers import MINIMA, Answer, Forward, Gossip, Heartbeat, Replace, Subscribe, encode_word

QUICK = brisk(8)


@asynccontextmanager
async def gathered(*topics: str, options: PeerOptions = QUICK) -> AsyncIterator[list[LivePeer]]:
    """A peer for each, of which all have asked the first one; all are linked up."""
    async with AsyncExitStack() as undo:
        peers: list[LivePeer] = []
        for topic in topics:
            contacts = [peers[0].address] if peers else []
            each = await undo.enter_async_context(reknit.peer(contacts=contacts, options=options))
            each.subscribe(topic, callback=lambda event: None)
            peers.append(each)
        for each, topic in zip(peers, topics, strict=True):
            await _linked(each, topic, topics)
        yield peers


async def _linked(each: LivePeer, topic: str, topics: tuple[str, ...]) -> None:
    while True:
        if _is_linked(each, topic, topics):
            return
        await asyncio.sleep(0.01)


def _is_linked(each: LivePeer, topic: str, topics: tuple[str, ...]) -> bool:
    community = each.core.communities[topic]
    alone = topics.count(topic) == 1
    above = [table.search.ladder for table in community.supers]
    wanted = any(other in ladder for ladder in above for other in topics)
    return (alone or len(community.membership.view) > 0) and (
        not wanted or any(table.entries for table in community.supers)
    )


def test_an_event_rises_and_nobody_else_sees_it() -> None:
    async def play() -> None:
        async with gathered("soccer", "soccer/italy", "soccer/italy", "soccer/france") as peers:
            above, one, other, elsewhere = peers
            async with above.subscribe("soccer") as events, other.subscribe("soccer/italy") as italian:
                french = elsewhere.subscribe("soccer/france")
                for _ in range(3):
                    await one.publish("soccer/italy", "goal", minute=89)
                    event = await anext(italian)
                    assert (event.topic, event.payload, event.attributes) == ("soccer/italy", b"goal", {"minute": 89})
                    assert (await anext(events)).community in ("soccer", "soccer/italy")
                assert not french._events
            assert sum(each.counters.get("strays", 0) for each in peers) == 0

    asyncio.run(play())


def test_selectors_callbacks_and_several_subscriptions_to_one_topic() -> None:
    async def play() -> None:
        called: list[PeerEvent] = []
        async with gathered("t", "t") as (one, other):
            async with other.subscribe("t", where="n >= 2") as some, other.subscribe("t") as everything:
                other.community("t").subscribe("n = 1", called.append)
                above = other.subscribe("#")
                for n in (1, 2):
                    await one.community("t").publish(b"x", n=n)
                assert (await anext(some)).attributes["n"] == 2
                assert sorted([(await anext(everything)).attributes["n"] for _ in range(2)]) == [1, 2]
                assert sorted([(await anext(above)).attributes["n"] for _ in range(2)]) == [1, 2]
            assert [event.attributes["n"] for event in called] == [1]
            other.leave("t")
            assert "t" not in other.core.communities

    asyncio.run(play())


def test_a_large_event_takes_a_stream_and_no_datagram_is_too_long() -> None:
    async def play() -> None:
        async with gathered("t", "t") as (one, other), other.subscribe("t") as events:
            for size in (5_000, 300_000):
                await one.publish("t", bytes(size))
                assert len((await anext(events)).payload) == size
            assert one.driver.port.datagram_bytes_max <= 1200
            with pytest.raises(TooLarge):
                await one.publish("t", bytes(5 * 1024 * 1024))

    asyncio.run(play())


def test_a_callback_that_fails_keeps_nobody_from_an_event(
    until: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: PeerEvent) -> None:
        raise RuntimeError("the user's own")

    async def play() -> None:
        async with gathered("t", "t", "t") as peers:
            got: list[bytes] = []
            peers[0].subscribe("t", callback=fail)
            for each in peers:
                each.subscribe("t", callback=lambda event: got.append(event.payload))
            await peers[0].publish("t", b"an event")
            await until(lambda: len(got) == 3)
            assert got == [b"an event"] * 3
            counters = peers[0].counters
            assert (counters["callback_failures"], counters["failures"]) == (1, 0)

    asyncio.run(play())
    assert [record.getMessage() for record in caplog.records] == ["the callback for t failed"]


def test_who_ends_repeats_its_goodbye_if_that_was_lost(until: Callable[..., Any]) -> None:
    async def play() -> None:
        async with gathered("t") as (stays,):
            leaves = reknit.peer(contacts=[stays.address], options=QUICK)
            async with leaves:
                leaves.subscribe("t", callback=lambda event: None)
                await _linked(leaves, "t", ("t", "t"))
                membership = stays.core.communities["t"].membership
                await until(lambda: leaves.address in membership.view)
                port = leaves.driver.port
                send, lost = port.send, set[bytes]()

                def lose_once(to: str, word: bytes) -> None:
                    if word in lost:
                        send(to, word)
                    lost.add(word)

                port.send = lose_once  # type: ignore[method-assign]
            assert lost
            assert leaves.address not in membership.view

    asyncio.run(play())


def test_nobody_waits_for_ever_for_those_who_do_not_answer() -> None:
    async def play() -> None:
        one = reknit.peer(options=QUICK)
        one.goodbye_s_max = 0.1
        async with one:
            one.subscribe("t", callback=lambda event: None)
            one.core.communities["t"].membership.join(("127.0.0.1:9",))
        with pytest.raises(PeerClosed):
            one.subscribe("t")

    asyncio.run(play())


def test_forged_words_change_nothing_and_no_table_outgrows_its_bound(until: Callable[..., Any]) -> None:
    async def play() -> None:
        async with gathered("t", "t") as (one, _):
            community = one.core.communities["t"]
            nobodies = tuple(f"127.9.9.{number}:9" for number in range(60))
            words = [
                Answer(4711, "t", nobodies),
                Heartbeat("t", 1, bytes(128), tuple(("#", each) for each in nobodies)),
                Heartbeat("t", 2**53, array("f", [0.5] * MINIMA).tobytes(), tuple(("#", each) for each in nobodies)),
                Heartbeat("t", 1, array("f", [0.001] * MINIMA).tobytes(), tuple(("#", each) for each in nobodies)),
                Replace("t", nobodies[0], 100.0),
                Gossip("t", 1, (), Event("elsewhere", b"parasite", source="x", seq=1)),
                Gossip("u", 1, (), Event("u", b"parasite", source="x", seq=2)),
                *(Subscribe("t", f"127.8.{n // 200}.{n % 200}:9", 0, 60.0, False) for n in range(400)),
                *(Forward("t", f"127.7.{n // 200}.{n % 200}:9", 0, 60.0) for n in range(400)),
            ]
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.bind(("127.0.0.1", 0))
                for word in words:
                    sock.sendto(b"\0" + encode_word(word), one.driver.port.address)
                    await asyncio.sleep(0)
                sock.sendto(b"\0nonsense", one.driver.port.address)
                await until(lambda: one.counters.get("bad_frames") == 1)
            counters = one.counters
            assert (counters["forged"], counters["misled"], counters["strays"]) == (2, 1, 1)
            assert counters["unknown"] == 1
            assert counters["unasked"] >= 1
            assert not any(each in table.entries for each in nobodies for table in community.supers)
            assert len(community.membership.view) <= community.options.scamp.view_max
            assert all(len(table.entries) <= community.options.z for table in community.supers)
            assert counters["view_full"] > 0
            assert counters["failures"] == 0

    asyncio.run(play())


def test_a_contact_that_does_not_answer_is_counted(until: Callable[..., Any]) -> None:
    async def play() -> None:
        options = PeerOptions(topic=brisk(1).topic, courier=CourierOptions(retry_s=0.1), pending_s_max=0.1)
        async with reknit.peer(contacts=["127.0.0.1:9"], options=options) as alone:
            events = alone.subscribe("t")
            await alone.publish("t", b"to myself")
            assert (await anext(events)).payload == b"to myself"
            await until(lambda: alone.counters.get("unanswered", 0) > 0)

    asyncio.run(play())


def test_bad_input_is_refused_at_once() -> None:
    async def play() -> None:
        with pytest.raises(ConfigError, match="known_as"):
            reknit.peer("0.0.0.0:0")
        with pytest.raises(ConfigError, match="secret"):
            reknit.peer("192.0.2.7:7400")
        with pytest.raises(ConfigError, match="contact"):
            async with reknit.peer(contacts=["nobody"]):
                pass
        with pytest.raises(BadPattern):
            async with reknit.peer(options=PeerOptions(parents={"a": ("b",), "b": ("a",)})):
                pass
        one = reknit.peer()
        with pytest.raises(PeerClosed):
            one.subscribe("t")
        async with one:
            for wrong in ("a/+", "", "a/#"):
                with pytest.raises(BadPattern):
                    one.subscribe(wrong)
                with pytest.raises(BadPattern):
                    one.community(wrong)
            with pytest.raises(BadPattern):
                one.subscribe("t", where="n >> 2")
            assert not one.core.communities
            for number in range(PeerOptions().communities_max):
                one.subscribe(f"t{number}")
            with pytest.raises(TooMany):
                one.subscribe("one more")

    asyncio.run(play())


def test_a_loop_that_is_too_slow_is_told_and_one_whose_peer_ends_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member, "QUEUE_EVENTS_MAX", 3)

    async def play() -> None:
        async with reknit.peer(options=PeerOptions(pending_s_max=0.0)) as one:
            slow, other = one.subscribe("t"), one.subscribe("u")
            for number in range(4):
                await one.publish("t", str(number))
            await one.publish("u", "x")
            assert [(await anext(slow)).payload for _ in range(3)] == [b"0", b"1", b"2"]
            with pytest.raises(FellBehind):
                await anext(slow)
        assert [event.payload async for event in other] == [b"x"]

    asyncio.run(play())
