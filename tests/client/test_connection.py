"""The Python client against a live broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reknit
from reknit.client import (
    BadAttribute,
    BadPattern,
    BadRequest,
    BadSelector,
    BadTopic,
    ClientError,
    ConnectFailed,
    Disconnected,
    Event,
    Refused,
    connect,
)
from reknit.client.subscription import Subscription
from reknit.live.process import RunningBroker
from reknit.model.event import INTEGER_MAX, INTEGER_MIN, Scalar


async def take(events: Subscription, count: int) -> list[Event]:
    return [await anext(events) for _ in range(count)]


def test_the_package_hands_out_the_client_and_nothing_else_by_surprise() -> None:
    assert (reknit.connect, reknit.Event) == (connect, Event)
    assert (reknit.ClientError, reknit.Refused) == (ClientError, Refused)
    assert {"connect", "Event", "ClientError", "Refused", "__version__"} <= set(dir(reknit))
    with pytest.raises(AttributeError, match="disconnect"):
        _ = reknit.disconnect  # type: ignore[attr-defined]


def test_attributes_come_back_as_the_same_values(with_broker: Callable[..., None]) -> None:
    values: dict[str, Scalar] = {
        "severity": 3,
        "ratio": 0.1,
        "whole": 2.0,
        "urgent": True,
        "not": False,
        "zip": "01234",
        "größe": "ß \n '\"",
        "least": INTEGER_MIN,
        "most": INTEGER_MAX,
        "qos": 7,
    }

    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt) as client, client.subscribe("city/+/traffic") as events:
            await client.publish("city/berlin/traffic", b"\x00\xff", attributes=values, content_type="x/y")
            await client.publish("city/rome/traffic", "text", severity=1)
            first, second = await take(events, 2)
        assert first == Event("city/berlin/traffic", b"\x00\xff", values, 0, "x/y")
        assert {name: type(value) for name, value in first.attributes.items()} == {
            name: type(value) for name, value in values.items()
        }
        assert (second.topic, second.payload, second.attributes) == ("city/rome/traffic", b"text", {"severity": 1})

    with_broker(play)


scalars = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
    st.integers(INTEGER_MIN, INTEGER_MAX),
    st.floats(allow_nan=False),
    st.booleans(),
)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.dictionaries(st.text("abcdé_", min_size=1, max_size=6), scalars, max_size=5), max_size=8))
def test_any_values_come_back(with_broker_once: Callable[..., None], all_values: list[dict[str, Scalar]]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt) as client, client.subscribe("t") as events:
            for values in all_values:
                await client.publish("t", b"", attributes=values)
            assert [dict(event.attributes) for event in await take(events, len(all_values))] == all_values

    with_broker_once(play)


def test_a_selector_decides_and_a_bad_one_is_shown(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt) as client:
            async with client.subscribe("t", where="severity >= 3 AND region = 'eu'") as events:
                await client.publish("t", b"1", severity=2, region="eu")
                await client.publish("t", b"2", severity=3, region="us")
                await client.publish("t", b"3", region="eu")
                await client.publish("t", b"4", severity=3, region="eu")
                assert [event.payload for event in await take(events, 1)] == [b"4"]
            with pytest.raises(BadSelector, match="bad selector at line 1, column 12") as caught:
                client.subscribe("t", where="severity >=")
            assert str(caught.value).endswith("\n  severity >=\n             ^")
            assert isinstance(caught.value, BadPattern)
            with pytest.raises(BadTopic):
                client.subscribe("a/#/b")
            async with client.subscribe("t") as events:  # a refusal leaves nothing behind
                await client.publish("t", b"5")
                assert [event.payload for event in await take(events, 1)] == [b"5"]

    with_broker(play)


def test_each_subscription_gets_its_own_events_once(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with (
            connect(*broker.mqtt) as client,
            client.subscribe("a/#") as wide,
            client.subscribe("a/+", where="n > 5") as large,
            client.subscribe("a/+", where="n < 5") as small,
            client.subscribe("a/+", where="n < 5") as small_again,
        ):
            for n in (3, 5, 7):
                await client.publish("a/b", str(n), n=n)
            await client.publish("a/b", b"end", n=3)
            await client.publish("a/b", b"end", n=7)
            assert [event.payload for event in await take(wide, 5)] == [b"3", b"5", b"7", b"end", b"end"]
            assert [event.payload for event in await take(large, 2)] == [b"7", b"end"]
            assert [event.payload for event in await take(small, 2)] == [b"3", b"end"]
            assert [event.payload for event in await take(small_again, 2)] == [b"3", b"end"]

    with_broker(play)


def test_one_subscription_to_several_filters_gets_each_event_once(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt) as client:
            async with client.subscribe("a/#", "a/b", "c", "c", where="n > 5") as events:
                for topic, n in (("a/b", 7), ("a/b", 1), ("c", 8), ("d", 9), ("a/x", 9)):
                    await client.publish(topic, str(n), n=n)
                assert [(event.topic, event.payload) for event in await take(events, 3)] == [
                    ("a/b", b"7"),
                    ("c", b"8"),
                    ("a/x", b"9"),
                ]
            assert broker.driver.broker.table()["entries"] == []
            with pytest.raises(BadTopic):
                client.subscribe("good", "b#d")
            with pytest.raises(Refused, match="a shared subscription is written"):
                await client.subscribe("good", "$share/g").__aenter__()
            assert broker.driver.broker.table()["entries"] == []

    with_broker(play)


def test_a_subscription_that_ends_leaves_the_others_of_its_filter(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt, client_id="c") as client, client.subscribe("t", where="n > 5") as large:
            async with client.subscribe("t") as every:
                await client.publish("t", b"small", n=1)
                assert (await anext(every)).payload == b"small"
            assert [entry["selector"] for entry in broker.driver.broker.table()["entries"]] == ["n > 5"]
            with pytest.raises(StopAsyncIteration):
                await anext(every)
            await client.publish("t", b"small", n=1)
            await client.publish("t", b"large", n=9)
            assert (await anext(large)).payload == b"large"
        assert broker.driver.broker.table()["entries"] == []

    with_broker(play)


def test_a_bad_selector_beside_a_good_one_is_found_where_it_is(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt) as client, client.subscribe("t", where="n > 5"):
            with pytest.raises(BadPattern, match="column 4"):
                client.subscribe("t", where="n >")
            assert [entry["selector"] for entry in broker.driver.broker.table()["entries"]] == ["n > 5"]

    with_broker(play)


def test_selectors_on_one_filter_can_read_json(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with (
            connect(*broker.mqtt, json_attributes=True) as client,
            client.subscribe("t", where="n > 5") as large,
            client.subscribe("t", where="n < 5") as small,
        ):
            await client.publish("t", b'{"n": 1}')
            await client.publish("t", b'{"n": 9}')
            assert (await anext(large)).payload == b'{"n": 9}'
            assert (await anext(small)).payload == b'{"n": 1}'

    with_broker(play, json_attributes=True)


@pytest.mark.parametrize(
    ("attributes", "values"),
    [({"n": 2**63}, {}), ({"n": None}, {}), ({"n": [1]}, {}), ({"": 1}, {}), ({"n": 1}, {"n": 2})],
)
def test_a_bad_attribute_is_found_before_anything_is_sent(
    with_broker: Callable[..., None], attributes: dict[str, Scalar], values: dict[str, Scalar]
) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt) as client:
            with pytest.raises(BadAttribute):
                await client.publish("t", b"", attributes=attributes, **values)
            await client.publish("t", b"good", qos=1)
            assert broker.driver.count()["mqtt"]["received"]["Publish"] == 1

    with_broker(play)


def test_at_qos_1_the_broker_has_the_event_when_publish_returns(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt) as client, client.subscribe("t", qos=1) as events:
            await asyncio.gather(*(client.publish("t", str(n), qos=1) for n in range(100)))
            assert broker.driver.count()["mqtt"]["received"]["Publish"] == 100
            taken = await take(events, 100)
            assert [event.payload for event in taken] == [str(n).encode() for n in range(100)]
            assert {event.qos for event in taken} == {1}

    with_broker(play)


def test_a_publication_that_the_broker_refuses_is_an_error(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt) as client:
            with pytest.raises(Refused, match=r"\$SYS/x: Not authorized"):
                await client.publish("$SYS/x", b"", qos=1)
            with pytest.raises(Refused, match="Topic name invalid"):
                await client.publish("a/b/c", b"", qos=1)
            await client.publish("a/b", b"", qos=1)

    with_broker(play, topic_levels_max=2)


def test_what_no_broker_could_take_is_not_sent(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt) as client:
            for topic in ("", "a/#", "a\0", "\ud800", "a/" * 40, "x" * 2000):
                with pytest.raises(BadTopic):
                    await client.publish(topic, b"")
            for qos in (3, -1):
                with pytest.raises(BadRequest, match="QoS is 0, 1 or 2"):
                    await client.publish("t", b"", qos=qos)
                with pytest.raises(BadRequest, match="QoS is 0, 1 or 2"):
                    client.subscribe("t", qos=qos)
            with pytest.raises(BadRequest, match="payload"):
                await client.publish("t", "\ud800")
            with pytest.raises(BadRequest, match="at least one topic filter"):
                client.subscribe()
            await client.publish("t", b"good", qos=1)
            assert broker.driver.count()["mqtt"]["received"]["Publish"] == 1

    with_broker(play)


@pytest.mark.parametrize(("qos", "text"), [(0, ""), (1, ""), (0, "x"), (1, "x" * 200)])
def test_the_largest_packet_passes_and_a_larger_one_is_not_sent(
    with_broker: Callable[..., None], qos: int, text: str
) -> None:
    async def play(broker: RunningBroker) -> None:
        attributes = {"a": text} if text else {}
        async with connect(*broker.mqtt) as client, client.subscribe("t") as events:
            with pytest.raises(BadRequest, match="and the broker takes 1000 at most") as caught:
                await client.publish("t", b"x" * 1000, attributes=attributes, qos=qos)
            size = 2000 - int(str(caught.value).split(" has ")[1].split()[0])
            await client.publish("t", b"x" * size, attributes=attributes, qos=qos)
            assert len((await anext(events)).payload) == size
            with pytest.raises(BadRequest, match="the packet has 1001 bytes"):
                await client.publish("t", b"x" * (size + 1), attributes=attributes, qos=qos)

    with_broker(play, packet_bytes_max=1000)


def test_no_more_is_in_flight_than_the_broker_takes(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt) as client:
            await asyncio.gather(*(client.publish("t", b"", qos=1) for _ in range(30)))

    with_broker(play, receive_maximum=2)


def test_publications_that_wait_end_with_the_connection(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt, client_id="ann") as client:
            for protocol in list(broker.driver.clients.values()):
                protocol.transport.pause_reading()
            waiting = [asyncio.ensure_future(client.publish("t", b"", qos=1)) for _ in range(30)]
            await asyncio.sleep(0)
            async with connect(*broker.mqtt, client_id="ann"):
                ends = await asyncio.gather(*waiting, return_exceptions=True)
                assert {(type(end), str(end).partition(": ")[2]) for end in ends} == {
                    (Disconnected, "the broker ended the connection: Session taken over")
                }
                with pytest.raises(Disconnected, match="Session taken over"):
                    await client.publish("t", b"", qos=1)

    with_broker(play)


def test_nothing_is_printed(with_broker: Callable[..., None], capfd: pytest.CaptureFixture[str]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt, client_id="ann") as client, connect(*broker.mqtt, client_id="ann"):
            with pytest.raises(Disconnected):
                await client.publish("t", b"", qos=1)
            client._mqtt._logger.error("as if something were amiss")

    capfd.readouterr()
    with_broker(play)
    assert "amiss" not in capfd.readouterr().err


def test_no_broker_is_a_clear_error() -> None:
    async def run() -> None:
        async with connect("127.0.0.1", 1):
            pytest.fail("connected")

    with pytest.raises(ConnectFailed, match=r"127.0.0.1:1: .*refused"):
        asyncio.run(run())


def test_a_broker_that_goes_ends_the_wait_for_events(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with connect(*broker.mqtt) as client, client.subscribe("t") as events:
            await client.publish("t", b"last")
            assert (await anext(events)).payload == b"last"
            for protocol in list(broker.driver.clients.values()):
                protocol.transport.abort()
            with pytest.raises(Disconnected, match="the connection was lost"):
                await anext(events)
            with pytest.raises(ClientError):
                await client.publish("t", b"lost", qos=1)

    with_broker(play)


def test_a_broker_that_ends_a_connection_says_why(with_broker: Callable[..., None]) -> None:
    async def play(broker: RunningBroker) -> None:
        async with (
            connect(*broker.mqtt, client_id="ann") as client,
            client.subscribe("t") as events,
            connect(*broker.mqtt, client_id="ann"),
        ):
            with pytest.raises(Disconnected, match="the broker ended the connection: Session taken over"):
                await anext(events)

    with_broker(play)


@pytest.fixture(scope="module")
def with_broker_once() -> Callable[..., None]:
    """As ``with_broker``, for the many examples of one test."""
    from reknit.live.address import Address
    from reknit.live.process import BrokerPlan, broker_running

    def run(play: Callable[[RunningBroker], object]) -> None:
        async def inside() -> None:
            anywhere = Address("127.0.0.1", 0)
            async with broker_running(BrokerPlan("b1", anywhere, anywhere)) as broker:
                await play(broker)  # type: ignore[misc]

        asyncio.run(inside())

    return run
