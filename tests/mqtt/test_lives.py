"""Who a client is and what it may do, from its CONNECT on, on every way that an event can take to it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reknit.model.event import Event
from reknit.mqtt.access import Access, Rule
from reknit.mqtt.packets import (
    V3_1_1,
    V5_0,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Puback,
    Publish,
    Pubrec,
    Request,
    Suback,
    Subscribe,
    Will,
)
from reknit.mqtt.properties import Properties, PropertyId
from reknit.mqtt.reasons import Reason
from tests.mqtt.conversation import Client, Room

LASTING: Properties = ((PropertyId.SESSION_EXPIRY, 100),)


def come(
    room: Room, packet: Connect, *, anonymous: bool = True, user: str = "", fault: Reason | None = None
) -> tuple[Client, list[Packet]]:
    client = room.client()
    room.door.closed(client.conn, room.now)
    room.door.opened(client.conn, room.now, anonymous=anonymous, user=user, fault=fault)
    return client, client.say(packet)


def reason(answers: list[Packet]) -> int:
    (answer,) = answers
    assert isinstance(answer, Connack)
    return answer.reason


# --- who it is


def test_where_names_are_needed_nobody_comes_without_one() -> None:
    client, answers = come(Room(), Connect("a"), anonymous=False)
    assert reason(answers) == Reason.NOT_AUTHORIZED
    assert client.closed
    _, answers = come(Room(), Connect("a", V3_1_1), anonymous=False)
    assert reason(answers) == 5


@pytest.mark.parametrize("fault", [Reason.QUOTA_EXCEEDED, Reason.CONNECTION_RATE_EXCEEDED])
def test_one_too_many_from_its_address_hears_why_in_its_version(fault: Reason) -> None:
    room = Room()
    client, answers = come(room, Connect("a"), fault=fault)
    assert reason(answers) == fault
    assert client.closed
    assert room.door.counters.refused == {fault.name: 1}
    _, answers = come(room, Connect("a", V3_1_1), fault=fault)
    assert reason(answers) == 3


def test_a_name_that_nobody_checks_proves_nothing() -> None:
    _, answers = come(Room(), Connect("a", username="ann", password=b"x"), anonymous=False)
    assert reason(answers) == Reason.NOT_AUTHORIZED


def checked(good: bool, version: int = V5_0) -> tuple[Room, Client, list[Packet]]:
    room = Room()
    room.door.passwords = True
    client = room.client()
    said = client.say(Connect("a", version, username="ann", password=b"secret"), Subscribe(1, (Request("t"),)))
    assert said == []
    (question,) = room.door.questions()
    assert (question.user, question.password) == ("ann", b"secret")
    assert room.door.questions() == []
    assert client.say(Publish("t", b"x")) == []
    room.perform(room.door.answered(question.conn, good, room.now))
    return room, client, client.listen()


@pytest.mark.parametrize("version", [V3_1_1, V5_0])
def test_nothing_is_done_before_the_password_is_checked_and_all_of_it_afterwards(version: int) -> None:
    _, client, answers = checked(True, version)
    assert [type(each) for each in answers] == [Connack, Suback, Publish]
    assert not client.closed


@pytest.mark.parametrize(("version", "code"), [(V3_1_1, 4), (V5_0, Reason.BAD_CREDENTIALS)])
def test_a_wrong_password_ends_it(version: int, code: int) -> None:
    room, client, answers = checked(False, version)
    assert reason(answers) == code
    assert client.closed
    assert room.commands == []
    assert room.door.answered(client.conn, True, room.now) == []


@pytest.mark.parametrize("version", [V3_1_1, V5_0])
def test_whoever_is_not_known_any_more_is_turned_out_and_told_where_it_can_read(version: int) -> None:
    room, client, _ = checked(True, version)
    other, _ = come(room, Connect("b"), user="cert")
    assert room.door.turn_out(lambda user: user == "ann", room.now) == []
    assert not client.closed
    room.perform(room.door.turn_out(lambda user: False, room.now))
    said = [packet.reason for packet in client.listen() if isinstance(packet, Disconnect)]
    assert said == ([Reason.NOT_AUTHORIZED] if version == V5_0 else [])
    assert client.closed
    assert not other.closed  # a certificate had proved who it is


def test_a_client_that_waits_for_too_long_is_closed_like_any_other() -> None:
    room = Room(connect_s_max=5.0)
    room.door.passwords = True
    client = room.client()
    client.say(Connect("a", username="ann"))
    room.wait(5.0)
    assert client.closed


def test_whoever_has_not_proved_who_it_is_gets_little_room() -> None:
    room = Room(first_packet_bytes_max=1000)
    room.door.passwords = True
    client = room.client()
    client.say(Connect("a", username="ann", password=b"secret"))
    (question,) = room.door.questions()
    assert client.say(Publish("t", b"x" * 900)) == []
    assert reason(client.say(Publish("t", b"x" * 900))) == Reason.QUOTA_EXCEEDED
    assert client.closed
    assert room.door.answered(question.conn, True, room.now) == []
    assert room.commands == []


def test_nobody_takes_over_the_session_of_another_user() -> None:
    room = Room()
    come(room, Connect("a", properties=LASTING), user="ann")
    for user in ("ben", ""):
        for clean in (True, False):
            stranger, answers = come(room, Connect("a", clean_start=clean), user=user)
            assert reason(answers) == Reason.NOT_AUTHORIZED
            assert stranger.closed
    _, answers = come(room, Connect("a", clean_start=False), user="ann")
    assert isinstance(answers[0], Connack)
    assert answers[0].session_present


def test_a_session_of_nobody_in_particular_is_anybodys() -> None:
    room = Room()
    come(room, Connect("a", properties=LASTING))
    _, answers = come(room, Connect("a", clean_start=False, properties=LASTING), user="ann")
    assert reason(answers) == 0
    _, answers = come(room, Connect("a", clean_start=False))
    assert reason(answers) == Reason.NOT_AUTHORIZED


def test_a_session_that_has_moved_still_belongs_to_its_user() -> None:
    room, other = Room(), Room()
    client, _ = come(other, Connect("a", properties=LASTING), user="ann")
    client.vanish()
    other.door.moves.export("a", other.now)
    ((name, state),) = other.door.moves.ready(other.now)
    room.door.moves.reserve(name)
    room.patterns[name] = []
    room.expected.add(name)
    room.door.arrive(name, state, room.now)
    _, answers = come(room, Connect("a", clean_start=False), user="ben")
    assert reason(answers) == Reason.NOT_AUTHORIZED
    _, answers = come(room, Connect("a", clean_start=False), user="ann")
    assert reason(answers) == 0


def test_a_certificate_needs_no_password() -> None:
    room = Room()
    room.door.passwords = True
    room.door.allow(Access([Rule("machine", publish=("t",))]))
    client, answers = come(room, Connect("a", username="ann"), anonymous=False, user="machine")
    assert reason(answers) == 0
    assert client.say(Publish("t", b"", 1, 1)) == [Puback(1)]


# --- what it may do


def room_with(*rules: Rule) -> Room:
    room = Room()
    room.door.allow(Access(rules))
    return room


READER = Rule(client="reader", subscribe=("open/#", "eu"), where="")
WRITER = Rule(client="writer", publish=("#",), subscribe=("#",))


def test_publishing_is_refused_with_a_reason() -> None:
    client = room_with(Rule(publish=("a",))).join("p")
    assert client.say(Publish("a", b"", 1, 1), Publish("b", b"", 1, 2)) == [Puback(1), Puback(2, Reason.NOT_AUTHORIZED)]
    assert client.say(Publish("b", b"", 2, 3)) == [Pubrec(3, Reason.NOT_AUTHORIZED)]
    assert client.say(Publish("b"), Publish("b"), Publish("a", b"", 1, 4)) == [Puback(4)]


def test_a_subscription_is_refused_with_a_reason() -> None:
    client = room_with(READER).join("reader")
    (answer,) = client.say(Subscribe(1, (Request("open/+"), Request("#"), Request("eu"))))
    assert isinstance(answer, Suback)
    assert answer.reasons == (0, Reason.NOT_AUTHORIZED, 0)


def test_the_will_of_a_session_that_has_moved_must_be_allowed_where_it_is() -> None:
    for allowed in (True, False):
        room, other = Room(), Room()
        room.door.allow(Access([Rule("ann", publish=("a",))] if allowed else []))
        client, _ = come(other, Connect("p", will=Will("a", b"gone"), properties=LASTING), user="ann")
        assert not client.closed
        other.door.moves.export("p", other.now)
        ((name, state),) = other.door.moves.ready(other.now)
        room.door.moves.reserve(name)
        room.patterns[name] = []
        room.door.arrive(name, state, room.now)
        room.wait(1000.0)
        published = [command for command in room.commands if getattr(command, "events", None)]
        assert len(published) == allowed


def test_a_will_must_be_allowed_and_still_be_when_it_is_published() -> None:
    room = room_with(Rule(publish=("a",)))
    _, answers = come(room, Connect("p", will=Will("b")))
    assert reason(answers) == Reason.NOT_AUTHORIZED
    client, answers = come(room, Connect("q", will=Will("a")))
    assert reason(answers) == 0
    room.door.allow(Access([]))
    client.vanish()
    assert not any(getattr(command, "events", None) for command in room.commands)


SECRET = Event("open/secret", b"secret", attributes={"level": 9}, qos=1)
PUBLIC = Event("open/news", b"news", attributes={"level": 1}, qos=1)
LIMITED = Rule(client="reader", subscribe=("open/#",), where="level < 5")


def live(room: Room) -> list[Packet]:
    reader = room.join("reader", properties=LASTING)
    reader.say(Subscribe(1, (Request("open/#", 1),)))
    for event in (SECRET, PUBLIC):
        room.publish(event)
    room.perform([])
    return reader.listen()


def plain(room: Room) -> list[Packet]:
    reader = room.join("reader")
    reader.say(Subscribe(1, (Request("open/#", 0),)))
    for event in (SECRET, PUBLIC):
        room.publish(event)
    room.perform([])
    return reader.listen()


def queued(room: Room) -> list[Packet]:
    reader = room.join("reader", properties=LASTING)
    reader.say(Subscribe(1, (Request("open/#", 1),)))
    reader.vanish()
    for event in (SECRET, PUBLIC):
        room.publish(event)
    return room.join("reader", clean_start=False, properties=LASTING).listen()


def queued_before_the_rule(room: Room) -> list[Packet]:
    room.door.allow(Access())
    reader = room.join("reader", properties=LASTING)
    reader.say(Subscribe(1, (Request("#", 1),)))
    reader.vanish()
    for event in (SECRET, PUBLIC):
        room.publish(event)
    room.door.allow(Access([LIMITED]))
    return room.join("reader", clean_start=False, properties=LASTING).listen()


def repeated_after_the_rule(room: Room) -> list[Packet]:
    room.door.allow(Access())
    reader = room.join("reader", properties=LASTING)
    reader.say(Subscribe(1, (Request("#", 1),)))
    for event in (SECRET, PUBLIC):
        room.publish(event)
    room.perform([])
    reader.listen()
    reader.vanish()
    room.door.allow(Access([LIMITED]))
    return room.join("reader", clean_start=False, properties=LASTING).listen()


def moved(room: Room) -> list[Packet]:
    """From a door without rules to one with them."""
    other = Room()
    reader = other.join("reader", properties=LASTING)
    reader.say(Subscribe(1, (Request("#", 1),)))
    reader.vanish()
    for event in (SECRET, PUBLIC):
        other.publish(event)
    other.door.moves.export("reader", other.now)
    ((client, state),) = other.door.moves.ready(other.now)
    room.door.moves.reserve(client)
    room.patterns[client] = []
    room.expected.add(client)
    room.door.arrive(client, state, room.now)
    return room.join("reader", clean_start=False, properties=LASTING).listen()


WAYS = [live, plain, queued, queued_before_the_rule, repeated_after_the_rule, moved]


@pytest.mark.parametrize("way", WAYS)
def test_no_event_that_is_not_allowed_reaches_a_client_on_any_way(way: Callable[[Room], list[Packet]]) -> None:
    room = Room()
    room.door.allow(Access([LIMITED]))
    heard = [each.payload for each in way(room) if isinstance(each, Publish)]
    assert heard == [b"news"]
    assert room.door.counters.dropped == {"not allowed": 1}


def test_retained_messages_are_no_way_round() -> None:
    room = Room()
    room.door.allow(Access([LIMITED, WRITER]))
    levels = [((PropertyId.USER_PROPERTY, ("level", level)),) for level in ("9", "1")]
    room.join("writer").say(
        Publish("open/secret", b"secret", retain=True, properties=levels[0]),
        Publish("open/news", b"news", retain=True, properties=levels[1]),
    )
    answers = room.join("reader").say(Subscribe(1, (Request("open/#", 1),)))
    assert [each.payload for each in answers if isinstance(each, Publish)] == [b"news"]
