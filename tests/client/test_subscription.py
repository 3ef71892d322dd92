"""Which subscription an event is for, without a broker."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from paho.mqtt.client import MQTTMessage
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from reknit.client import Event, FellBehind
from reknit.client import subscription as module
from reknit.client.subscription import Groups, Subscription

NOBODY = cast(Any, None)


def message(topic: str, payload: bytes = b"", n: str = "", ids: tuple[int, ...] = ()) -> MQTTMessage:
    made = MQTTMessage(topic=topic.encode())
    made.payload = payload
    made.properties = properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    if n:
        properties.UserProperty = [("n", n)]
    for number in ids:
        properties.SubscriptionIdentifier = number
    return made


def joined(groups: Groups, *topics: str, where: str = "", order_s: float = 0.0) -> Subscription:
    made = Subscription(NOBODY, topics, where, 0, order_s=order_s)
    for topic in topics:
        groups.group(topic).members.append(made)
    return made


def waiting(subscription: Subscription) -> list[bytes]:
    return [event.payload for event in subscription._events]


def test_the_brokers_identifiers_decide_where_there_are_any() -> None:
    groups = Groups(False)
    one, other = joined(groups, "a/+"), joined(groups, "a/#")
    groups.dispatch(message("a/b", b"x", ids=(groups.group("a/#").identifier,)))
    groups.dispatch(message("a/b", b"y", ids=(99,)))
    assert (waiting(one), waiting(other)) == ([], [b"x"])


def test_without_identifiers_the_topic_decides() -> None:
    groups = Groups(False)
    one, other, third = joined(groups, "a/+"), joined(groups, "a/#", "a/b/c"), joined(groups, "c")
    groups.dispatch(message("a/b/c", b"x"))
    assert (waiting(one), waiting(other), waiting(third)) == ([], [b"x"], [])


def test_selectors_of_one_filter_are_joined_and_told_apart() -> None:
    groups = Groups(False)
    large, small = joined(groups, "t", where="n > 5"), joined(groups, "t", where="n < 5")
    group = groups.group("t")
    assert group.where == "(n > 5) OR (n < 5)"
    assert group.mixed
    for n in ("3", "5", "7"):
        groups.dispatch(message("t", n.encode(), n, (group.identifier,)))
    assert (waiting(large), waiting(small)) == ([b"7"], [b"3"])
    every = joined(groups, "t")
    assert group.where == ""
    groups.dispatch(message("t", b"5", "5", (group.identifier,)))
    assert (waiting(large), waiting(every)) == ([b"7"], [b"5"])


def test_equal_selectors_are_one() -> None:
    groups = Groups(False)
    joined(groups, "t", where="n > 5")
    joined(groups, "t", where="n > 5")
    assert (groups.group("t").where, groups.group("t").mixed) == ("n > 5", False)


def test_of_one_filter_events_wait_as_long_as_any_lets_them() -> None:
    groups = Groups(False)
    joined(groups, "t", where="n > 5", order_s=1.5)
    joined(groups, "t", order_s=2.0)
    assert groups.group("t").properties == (("user-property", ("order", "2")),)


@pytest.mark.parametrize(("reads_json", "payloads"), [(True, [b'{"n": 7}']), (False, [])])
def test_json_counts_if_the_brokers_count_it(reads_json: bool, payloads: list[bytes]) -> None:
    groups = Groups(reads_json)
    large, _ = joined(groups, "t", where="n > 5"), joined(groups, "t", where="n < 5")
    groups.dispatch(message("t", b'{"n": 7}'))
    assert waiting(large) == payloads


def test_one_that_falls_behind_is_told_after_what_it_still_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUEUE_EVENTS_MAX", 2)
    slow = Subscription(NOBODY, ("t",), "", 0)
    for number in range(4):
        slow.put(Event("t", str(number).encode()))

    async def run() -> None:
        assert [(await anext(slow)).payload for _ in range(2)] == [b"0", b"1"]
        with pytest.raises(FellBehind, match="t: more than 2 events wait"):
            await anext(slow)

    asyncio.run(run())
