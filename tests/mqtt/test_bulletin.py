"""What a broker says of itself: averages, who gets it, and who does not."""

from __future__ import annotations

import math

import pytest

from reknit.core.io import Missed
from reknit.model.pattern import Pattern
from reknit.mqtt.access import Access, Rule
from reknit.mqtt.bulletin import PREFIX, Bulletin, Figures, is_local
from reknit.mqtt.packets import Puback, Publish, Request, Suback, Subscribe, Unsubscribe
from reknit.mqtt.reasons import Reason
from tests.mqtt.conversation import Client, Room


def said(bulletin: Bulletin, total: int, now: float) -> dict[str, str]:
    figures = Figures("x 1", {"now": 3}, {"all": total}, {"things": total})
    return {event.topic.removeprefix(PREFIX): event.payload.decode() for event in bulletin.look(figures, now)}


def test_a_load_is_the_average_in_a_minute() -> None:
    bulletin = Bulletin()
    said(bulletin, 0, 100.0)
    first = said(bulletin, 30, 110.0)
    assert first["uptime"] == "10 seconds"
    # 30 in 10 s are 180 in a minute.
    for minutes in (1, 5, 15):
        assert first[f"load/things/{minutes}min"] == f"{180 * (1 - math.exp(-10 / (60 * minutes))):.2f}"
    for step in range(2000):
        later = said(bulletin, 30 + 30 * (step + 1), 120.0 + 10 * step)
    assert later.get("load/things/1min", "180.00") == "180.00"


def test_only_what_has_changed_is_said_again() -> None:
    bulletin = Bulletin()
    assert set(said(bulletin, 0, 0.0)) > {"version", "uptime", "now", "all", "load/things/15min"}
    assert said(bulletin, 0, 0.5) == {}
    assert said(bulletin, 0, 1.5) == {"uptime": "1 seconds"}


@pytest.mark.parametrize(
    ("topic_filter", "local"),
    [("$SYS", True), ("$SYS/#", True), ("$SYS/broker/+", True), ("$SYSTEM/x", False), ("#", False), ("+/x", False)]
    + [(each, True) for each in ("$reknit", "$reknit/#", "$reknit/+/missing", "$reknit/gaps/#")]
    + [("$reknits/gaps", False)],
)
def test_what_no_other_broker_need_know(topic_filter: str, local: bool) -> None:
    assert is_local(topic_filter) is local


def heard(client: Client) -> dict[str, tuple[bytes, bool]]:
    found = [each for each in client.listen() if isinstance(each, Publish)]
    assert len({each.topic for each in found}) == len(found)
    return {each.topic.removeprefix(PREFIX): (each.payload, each.retain) for each in found}


def report(room: Room, seconds: float = 10.0) -> None:
    room.now += seconds
    room.door.report(room.now)
    room.perform([])


def test_a_subscriber_gets_all_at_once_and_then_what_has_changed() -> None:
    room = Room()
    report(room)
    client = room.join("c")
    answer, *kept = client.say(Subscribe(1, (Request("$SYS/#", 1),)))
    assert answer == Suback(1, (1,))
    assert all(isinstance(each, Publish) and each.retain and not each.qos for each in kept)
    assert len(kept) == len(room.door._bulletin) > 40
    assert room.patterns["c"] == []  # the core knows nothing of it
    room.join("other")
    report(room)
    changed = heard(client)
    assert changed["clients/connected"] == (b"2", False)
    assert changed["clients/maximum"] == (b"2", False)
    assert "version" not in changed
    client.say(Unsubscribe(2, ("$SYS/#",)))
    report(room)
    assert heard(client) == {}


@pytest.mark.parametrize("topic_filter", ["$reknit/gaps/#", "$reknit/#", "$reknit/+/missing", "$reknit/gaps/missing"])
def test_however_a_client_asks_for_its_gaps_it_hears_of_them_and_no_other_broker_does(topic_filter: str) -> None:
    room = Room()
    client = room.join("c")
    client.say(Subscribe(1, (Request(topic_filter),)))
    assert room.patterns["c"] == []
    room.door.missed(Missed(("c",), Pattern.parse("a", ""), "b1.1", 3, 5, "missing"), room.now)
    room.perform([])
    assert list(heard(client)) == ["$reknit/gaps/missing"]


def test_the_figures_are_true() -> None:
    room = Room()
    client = room.join("c", clean_start=True)
    client.say(Subscribe(1, (Request("a"), Request("b"))), Publish("a", b"x", 1, 7, retain=True), Publish("b"))
    other = room.join("gone")
    other.say_bytes(b"\xe0\x00")
    report(room)
    client.say(Subscribe(2, (Request("$SYS/broker/+/count"), Request("$SYS/broker/clients/+"))))
    shown = {topic: payload.decode() for topic, (payload, _) in heard_all(room, client).items()}
    assert shown["subscriptions/count"] == "2"
    assert shown["retained messages/count"] == "1"
    assert (shown["clients/total"], shown["clients/connected"], shown["clients/maximum"]) == ("1", "1", "2")
    assert (shown["clients/disconnected"], shown["clients/expired"]) == ("0", "0")


def heard_all(room: Room, client: Client) -> dict[str, tuple[bytes, bool]]:
    """By asking once more."""
    again = [each for each in client.say(Subscribe(9, (Request("$SYS/#"),))) if isinstance(each, Publish)]
    return {each.topic.removeprefix(PREFIX): (each.payload, each.retain) for each in again}


def test_wildcards_do_not_reach_it_and_nobody_publishes_there() -> None:
    room = Room()
    client = room.join("c")
    client.say(Subscribe(1, (Request("#"), Request("+/broker/#"))))
    report(room)
    assert client.listen() == []
    assert client.say(Publish("$SYS/broker/version", b"mine", 1, 3)) == [Puback(3, Reason.NOT_AUTHORIZED)]


def test_rules_hold() -> None:
    room = Room()
    room.door.allow(Access([Rule(subscribe=("#",)), Rule(client="ops", subscribe=("$SYS/broker/clients/#",))]))
    report(room)
    nobody, ops = room.join("nobody"), room.join("ops")
    (refusal,) = nobody.say(Subscribe(1, (Request("$SYS/#"),)))
    assert isinstance(refusal, Suback)
    assert refusal.reasons == (Reason.NOT_AUTHORIZED,)
    answer, *kept = ops.say(Subscribe(1, (Request("$SYS/broker/clients/#"), Request("$SYS/#"))))
    assert isinstance(answer, Suback)
    assert answer.reasons == (0, Reason.NOT_AUTHORIZED)
    assert {each.topic.split("/")[2] for each in kept if isinstance(each, Publish)} == {"clients"}
    room.door.allow(Access([]))
    room.join("one more")
    report(room)
    assert heard(ops) == {}
