"""Which members of groups are there and have room, as the door tells the core."""

from __future__ import annotations

from reknit.core.io import Presence
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.mqtt.access import Access, Rule
from reknit.mqtt.packets import V5_0, Disconnect, Puback, Publish, Request, Suback, Subscribe
from reknit.mqtt.properties import PropertyId
from reknit.mqtt.reasons import Reason
from tests.mqtt.conversation import Client, Room

T = ("g", Pattern("t"))


def _member(room: Room, **terms: object) -> Client:
    client = room.join("ann", V5_0, properties=((PropertyId.SESSION_EXPIRY, 60), *terms.pop("more", ())), **terms)  # type: ignore[misc]
    client.say(Subscribe(1, (Request("$share/g/t", 1),)))
    return client


def _moods(room: Room) -> list[Presence]:
    return [each for each in room.commands if isinstance(each, Presence)]


def test_a_member_that_goes_and_comes_back() -> None:
    room = Room()
    client = _member(room)
    assert _moods(room) == []  # the core takes whoever joins for ready
    client.say(Disconnect())
    assert _moods(room) == [Presence("ann", False, False)]
    room.join("ann", V5_0, clean_start=False)
    assert _moods(room)[1:] == [Presence("ann", True, True)]


def test_a_member_that_does_not_acknowledge_is_full() -> None:
    room = Room()
    client = _member(room, more=((PropertyId.RECEIVE_MAXIMUM, 1),))
    for _ in range(2):
        room.share(Event("t", qos=1), "ann", T)
    room.perform([])
    assert _moods(room) == [Presence("ann", True, False)]
    client.say(Puback(1))
    assert _moods(room)[1:] == [Presence("ann", True, True)]


def test_a_client_that_shares_nothing_is_not_told_of() -> None:
    room = Room()
    client = room.join("bob", V5_0, properties=((PropertyId.SESSION_EXPIRY, 60),))
    client.say(Subscribe(1, (Request("t", 1),)))
    client.say(Disconnect())
    assert _moods(room) == []


def test_a_session_that_has_ended_has_no_mood() -> None:
    room = Room()
    _member(room).say(Disconnect())
    room.wait(61)
    _member(room)
    assert _moods(room) == [Presence("ann", False, False)]


def test_what_is_shared_comes_as_the_subscription_says() -> None:
    room = Room()
    client = room.join("ann", V5_0)
    client.say(Subscribe(1, (Request("$share/g/t", 1), Request("t", 0)), ((PropertyId.SUBSCRIPTION_ID, 7),)))
    room.share(Event("t", b"x", qos=2), "ann", T)
    room.share(Event("t", b"y"), "ann", ("h", Pattern("t")))
    room.perform([])
    assert client.heard[-1:] == [Publish("t", b"x", 1, 1, properties=((PropertyId.SUBSCRIPTION_ID, 7),))]
    assert room.door.counters.dropped == {"no subscription": 1}


def test_rules_hold_for_what_is_shared() -> None:
    room = Room()
    room.door.allow(Access([Rule(subscribe=("t/#",), where="x = 1")]))
    client = room.join("ann", V5_0)
    (answer,) = client.say(Subscribe(1, (Request("$share/g/t/1", 1), Request("$share/g/u", 1))))
    assert isinstance(answer, Suback)
    assert answer.reasons == (1, Reason.NOT_AUTHORIZED)
    share = ("g", Pattern("t/1"))
    room.share(Event("t/1", b"no", attributes={"x": 2}), "ann", share)
    room.share(Event("t/1", b"yes", attributes={"x": 1}), "ann", share)
    room.perform([])
    assert [each.payload for each in client.heard if isinstance(each, Publish)] == [b"yes"]
    assert room.door.counters.dropped == {"not allowed": 1}
