"""Retained messages: what is kept, for whom it is played, and what a subscriber sees of it."""

from __future__ import annotations

from reknit.model.event import Envelope, Event
from reknit.model.pattern import Pattern
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.packets import Packet, Puback, Publish, Request, Suback, Subscribe, Will
from reknit.mqtt.properties import Properties, PropertyId
from reknit.mqtt.reasons import Reason
from reknit.mqtt.retained import Retained
from tests.mqtt.conversation import Client, Room

KEPT = Envelope(retain=True)


def kept(topic: str, payload: bytes = b"x", **fields: object) -> Event:
    return Event(topic, payload, envelope=KEPT, **fields)  # type: ignore[arg-type]


def test_the_last_one_counts_and_an_empty_one_ends_it() -> None:
    store = Retained(DoorOptions())
    store.put(kept("a", b"1"))
    store.put(kept("a", b"22"))
    assert [event.payload for event in store.matching(Pattern("a"), 0.0)] == [b"22"]
    store.put(kept("a", b""))
    assert list(store.matching(Pattern("#"), 0.0)) == []
    assert (len(store), store.bytes) == (0, 0)


def test_filters_and_selectors_choose() -> None:
    store = Retained(DoorOptions())
    for number in range(4):
        store.put(kept(f"a/{number}", attributes={"n": number}))
    store.put(kept("$SYS/x"))
    found = list(store.matching(Pattern.parse("a/+", "n >= 2"), 0.0))
    assert [event.topic for event in found] == ["a/2", "a/3"]
    assert len(list(store.matching(Pattern("#"), 0.0))) == 4


def test_what_has_expired_is_gone() -> None:
    store = Retained(DoorOptions())
    store.put(Event("a", b"x", envelope=Envelope(True, 10.0)))
    assert len(list(store.matching(Pattern("a"), 9.9))) == 1
    assert list(store.matching(Pattern("a"), 10.0)) == []
    assert len(store) == 0


def test_a_full_store_takes_no_new_topic() -> None:
    room = Room(retained_messages_max=1)
    client = room.join("p")
    assert client.say(Publish("a", b"x", 1, 1, retain=True)) == [Puback(1)]
    assert client.say(Publish("b", b"x", 1, 2, retain=True)) == [Puback(2, Reason.QUOTA_EXCEEDED)]
    assert client.say(Publish("a", b"y", 1, 3, retain=True)) == [Puback(3)]
    assert room.door.counters.refused == {"QUOTA_EXCEEDED": 1}


def test_the_bound_in_bytes_holds_for_what_is_replaced_too() -> None:
    store = Retained(DoorOptions(retained_bytes_max=2000))
    assert not store.takes(kept("a", b"x" * 2000))
    store.put(kept("a", b"x" * 500))
    store.put(kept("b", b"x" * 500))
    assert store.takes(kept("a", b"x" * 600))
    assert not store.takes(kept("a", b"x" * 1500))
    assert store.takes(kept("a", b""))
    full = Retained(DoorOptions(retained_bytes_max=0))
    full.put(kept("a", b"xx"))
    assert full.takes(kept("a", b"x"))  # less than there is


def subscribe(client: Client, *requests: Request, properties: Properties = ()) -> list[Packet]:
    return client.say(Subscribe(1, requests, properties))


def test_who_subscribes_later_gets_it_behind_the_suback() -> None:
    room = Room()
    room.join("p").say(Publish("a/1", b"x", 1, 1, retain=True), Publish("a/2", b"y", retain=True))
    client = room.join("s")
    identifier: Properties = ((PropertyId.SUBSCRIPTION_ID, 5),)
    assert subscribe(client, Request("a/#", 2), properties=identifier) == [
        Suback(1, (2,)),
        Publish("a/1", b"x", 1, 1, retain=True, properties=identifier),
        Publish("a/2", b"y", retain=True, properties=identifier),
    ]


def test_retain_handling_says_when() -> None:
    room = Room()
    room.join("p").say(Publish("a", b"x", retain=True))
    client = room.join("s")
    played = Publish("a", b"x", retain=True)
    assert played in subscribe(client, Request("a"))
    assert played in subscribe(client, Request("a"))
    assert played not in subscribe(client, Request("a", retain_handling=1))
    assert played not in subscribe(client, Request("a", retain_handling=2))
    assert played in subscribe(room.join("t"), Request("a", retain_handling=1))
    assert played not in subscribe(room.join("u"), Request("a", retain_handling=2))


def test_the_flag_of_a_message_that_passes_is_shown_to_those_who_want_it() -> None:
    room = Room()
    plain, curious = room.join("s"), room.join("t")
    subscribe(plain, Request("a"))
    subscribe(curious, Request("a", retain_as_published=True))
    room.join("p").say(Publish("a", b"x", retain=True))
    assert plain.listen() == [Publish("a", b"x")]
    assert curious.listen() == [Publish("a", b"x", retain=True)]


def test_a_will_can_be_retained() -> None:
    room = Room()
    room.join("p", will=Will("gone", b"p", 1, retain=True)).vanish()
    assert Publish("gone", b"p", retain=True) in subscribe(room.join("s"), Request("gone"))


def test_many_are_played_in_turns_and_before_what_comes_later() -> None:
    room = Room()
    publisher = room.join("p")
    for number in range(40):
        publisher.say(Publish(f"a/{number}", b"x" * 20_000, retain=True))
    client = room.join("s")
    first = subscribe(client, Request("a/#"))
    assert 10 < len(first) < 20
    publisher.say(Publish("a/0", b"new"))
    room.wait(0.0)
    rest = client.listen()
    assert len(first) + len(rest) == 1 + 40 + 1
    assert rest[-1] == Publish("a/0", b"new")


def test_what_is_too_much_is_counted() -> None:
    room = Room(replay_messages_max=2)
    publisher = room.join("p")
    for number in range(3):
        publisher.say(Publish(f"a/{number}", b"x", retain=True))
    assert len(subscribe(room.join("s"), Request("a/#"))) == 1 + 2
    assert room.door.counters.dropped == {"too many retained messages": 1}
