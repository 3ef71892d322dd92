"""Sessions that move from one door to another, as clients see it: they speak in packets with both."""

from __future__ import annotations

import pytest

from reknit.core import io
from reknit.live.moves import Moves
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.mqtt.moves import WITHHELD_BYTES_MAX
from reknit.mqtt.packets import (
    V3_1_1,
    V5_0,
    Connack,
    Connect,
    Disconnect,
    Puback,
    Publish,
    Request,
    Suback,
    Subscribe,
    Will,
)
from reknit.mqtt.properties import PropertyId, text
from reknit.mqtt.reasons import Reason
from tests.mqtt.conversation import Client, Room

PATIENT = ((int(PropertyId.SESSION_EXPIRY), 600),)


def _joined(room: Room, name: str = "ann", qos: int = 1, version: int = V5_0, **terms: object) -> Client:
    client = room.join(name, version, **terms)
    assert isinstance(client.say(Subscribe(1, (Request("a/#", qos),)))[0], Suback)
    return client


def _exported(room: Room, name: str = "ann") -> bytes | None:
    room.door.moves.export(name, room.now)
    return _ready(room).get(name)


def _ready(room: Room) -> dict[str, bytes]:
    return dict(room.door.moves.ready(room.now))


def _arrived(state: bytes, name: str = "ann", **options: float) -> Room:
    room = Room(**options)
    room.door.moves.reserve(name)
    room.door.arrive(name, state, room.now)
    room.patterns[name] = [Pattern.parse("a/#")]
    room.expected.add(name)
    return room


def _publishes(client: Client) -> list[tuple[str, int, int, bool]]:
    return [(each.topic, each.qos, each.packet_id, each.dup) for each in client.heard if isinstance(each, Publish)]


def _events(room: Room, *topics: str, qos: int = 1) -> None:
    for topic in topics:
        room.publish(Event(topic, qos=qos))
    room.perform([])


def test_a_client_finds_what_was_in_flight_and_what_waited_in_its_order() -> None:
    old = Room(inflight_max=2)
    _joined(old, properties=PATIENT)
    _events(old, "a/1", "a/2", "a/3")
    assert _exported(old) is None  # nothing is acknowledged yet
    old.wait(1.0)
    new = _arrived(_ready(old)["ann"])
    _events(new, "a/4", "a/5")
    client = new.join("ann", clean_start=False, properties=PATIENT)
    assert client.connack.session_present
    assert _publishes(client) == [
        ("a/1", 1, 1, True),
        ("a/2", 1, 2, True),
        ("a/3", 1, 3, False),
        ("a/4", 1, 4, False),
        ("a/5", 1, 5, False),
    ]
    assert new.commands == [io.Attach("ann")]  # so that the core knows that she has come


def test_a_session_at_rest_goes_at_once_and_its_acknowledgements_are_waited_for() -> None:
    room = Room()
    client = _joined(room)
    _events(room, "a/1")
    assert _exported(room) is None
    assert room.door.moves.resting
    client.say(Puback(1))
    assert list(_ready(room)) == ["ann"]
    assert not room.door.moves.resting


def test_of_one_that_is_away_nothing_is_waited_for() -> None:
    room = Room()
    client = _joined(room, properties=PATIENT)
    client.vanish()
    _events(room, "a/1")
    assert _exported(room) is not None


def test_what_is_said_after_the_state_was_taken_is_withheld_and_heard_if_the_session_stays() -> None:
    room = Room()
    client = _joined(room)
    assert _exported(room) is not None
    room.commands.clear()
    assert client.say(Publish("b", qos=1, packet_id=5)) == []
    assert room.commands == []
    thawed = room.door.moves.thaw("ann", room.now)
    assert thawed is not None
    assert thawed[0] == client.conn
    assert client.say_bytes(thawed[1]) == [Puback(5)]
    assert room.door.moves.thaw("ann", room.now) is None


@pytest.mark.parametrize("version", [V3_1_1, V5_0])
def test_who_says_goodbye_when_the_state_was_taken_does_not_move(version: int) -> None:
    """All that it has said is done where it was, and its will is forgotten."""
    room = Room()
    client = _joined(room, version=version, clean_start=True, will=Will("will"))
    assert _exported(room) is not None
    room.commands.clear()
    assert client.say(Publish("b", qos=1, packet_id=5)) == []
    client.say(Disconnect())
    assert room.commands == [io.Stay("ann")]
    thawed = room.door.moves.thaw("ann", room.now)
    assert thawed is not None
    room.commands.clear()
    assert client.say_bytes(thawed[1]) == [Puback(5)]
    assert client.closed
    [published, ended] = room.commands
    assert isinstance(published, io.Publish)
    assert [each.topic for each in published.events] == ["b"]
    assert ended == io.Detach("ann")


def test_who_says_goodbye_and_wants_its_session_to_wait_moves_as_one_that_is_away() -> None:
    room = Room()
    client = _joined(room, properties=PATIENT, will=Will("will"))
    assert _exported(room) is not None
    client.say(Disconnect())
    thawed = room.door.moves.thaw("ann", room.now)
    assert thawed is not None
    client.say_bytes(thawed[1])
    room.wait(100.0)
    state = _exported(room)
    assert state is not None
    new = _arrived(state)
    new.wait(499.0)
    assert new.commands == []  # no will
    new.wait(2.0)
    assert new.commands == [io.Detach("ann")]


def test_of_who_talks_on_only_so_much_is_read() -> None:
    room = Room()
    client = _joined(room)
    assert _exported(room) is not None
    client.say(Publish("b", bytes(WITHHELD_BYTES_MAX - 100)))
    assert room.door.moves.overfull() == []
    client.say(Publish("b", bytes(100)))
    assert room.door.moves.overfull() == [client.conn]


def test_a_client_of_mqtt_5_is_told_where_to_go() -> None:
    room = Room()
    client = _joined(room, will=Will("will"))
    room.commands.clear()
    assert room.door.redirect("ann", "b2:1883", room.now) == client.conn
    room.perform([])
    [goodbye] = client.listen()
    assert isinstance(goodbye, Disconnect)
    assert goodbye.reason == Reason.SERVER_MOVED == 0x9D
    assert text(goodbye.properties, PropertyId.SERVER_REFERENCE) == "b2:1883"
    assert client.closed
    assert room.commands == []  # no will, and the core knows better
    room.wait(100.0)
    assert room.commands == []
    assert room.door.redirect("ann", "b2:1883", room.now) is None


def test_one_of_mqtt_3_1_1_is_closed_and_its_session_waits() -> None:
    old = Room()
    client = _joined(old, version=V3_1_1, clean_start=False)
    state = _exported(old)
    assert state is not None
    old.door.redirect("ann", "b2:1883", old.now)
    old.perform([])
    assert client.listen() == []
    assert client.closed
    new = _arrived(state)
    new.wait(3600.0)
    _events(new, "a/1")
    again = new.join("ann", V3_1_1, clean_start=False)
    assert again.connack.session_present
    assert _publishes(again) == [("a/1", 1, 1, False)]


def test_messages_of_qos_0_are_kept_for_a_client_that_is_on_its_way_and_not_overtaken() -> None:
    old = Room()
    _joined(old, qos=0)
    state = _exported(old)
    assert state is not None
    new = _arrived(state)
    _events(new, *(f"a/{number}" for number in range(2000)), qos=0)
    client = new.join("ann", clean_start=False)
    _events(new, "a/last", qos=0)
    assert _publishes(client) == [(f"a/{number}", 0, 0, False) for number in [*range(2000), "last"]]
    client.vanish()
    assert new.commands[-1] == io.Detach("ann")  # as one with expiry 0 ends


def test_a_session_that_ends_with_its_connection_waits_a_while_and_then_its_will_is_known() -> None:
    old = Room()
    _joined(old, will=Will("will"))
    state = _exported(old)
    assert state is not None
    new = _arrived(state, arrival_s_max=5.0)
    new.wait(4.0)
    assert new.commands == []
    new.wait(60.0)
    assert [type(each) for each in new.commands] == [io.Publish, io.Detach]


def test_a_client_that_comes_too_early_is_to_try_again_and_a_new_one_is_sent_elsewhere() -> None:
    room = Room()
    room.door.moves.reserve("ann")
    [answer] = room.client().say(Connect("ann"))
    assert isinstance(answer, Connack)
    assert answer.reason == Reason.SERVER_BUSY
    bob = _joined(room, "bob", properties=PATIENT)
    room.door.moves.refer("b2:1883")
    [answer] = room.client().say(Connect("cay"))
    assert isinstance(answer, Connack)
    assert answer.reason == Reason.USE_ANOTHER_SERVER == 0x9C
    assert text(answer.properties, PropertyId.SERVER_REFERENCE) == "b2:1883"
    [answer] = room.client().say(Connect("cay", V3_1_1))
    assert answer == Connack(False, 3)
    bob.vanish()
    assert room.join("bob", clean_start=False, properties=PATIENT).connack.session_present  # until it has moved
    room.door.moves.refer(None)
    room.join("cay")


def test_a_session_that_is_taken_back_is_void() -> None:
    room = _arrived(_exported_one())
    room.door.discard("ann", room.now)
    assert room.door.counters.sessions == 0
    room = _arrived(_exported_one())
    client = room.join("ann", clean_start=False)
    room.commands.clear()
    room.door.discard("ann", room.now)
    room.perform([])
    assert client.closed
    assert room.commands == []
    room.door.moves.reserve("bob")
    room.door.discard("bob", room.now)
    room.join("bob")


def _exported_one() -> bytes:
    room = Room()
    _joined(room)
    state = _exported(room)
    assert state is not None
    return state


def test_no_local_holds_for_what_the_client_published_at_its_old_broker() -> None:
    old = Room()
    client = old.join("ann")
    client.say(Subscribe(1, (Request("a/#", 1, no_local=True),)))
    mine = Event("a/mine", qos=1, source="b1.1", seq=4)
    session = old.door._sessions["ann"]
    session.remember([mine])
    state = _exported(old)
    assert state is not None
    new = _arrived(state)
    new.publish(Event("a/mine", qos=1, source="b1.1", seq=4))  # it has come by way of the brokers
    new.publish(Event("a/other", qos=1, source="b1.1", seq=5))
    assert [each[0] for each in _publishes(new.join("ann", clean_start=False))] == ["a/other"]


def test_a_state_that_is_none_is_counted_and_the_session_is_empty() -> None:
    room = _arrived(b"garbage")
    assert room.door.counters.malformed == 1
    assert room.join("ann", clean_start=False).connack.session_present


def test_an_export_that_is_not_wanted_any_more_is_not_made() -> None:
    room = Room()
    _joined(room)
    _events(room, "a/1")
    assert _exported(room) is None
    assert room.door.moves.thaw("ann", room.now) is None
    room.wait(5.0)
    assert _ready(room) == {}


def test_nothing_happens_here_to_a_session_whose_state_is_elsewhere() -> None:
    """Its will, its end and its client are the other door's."""
    room = Room()
    delayed = Will("gone", properties=((PropertyId.WILL_DELAY, 2),))
    _joined(room, properties=PATIENT, will=delayed).vanish()
    assert _exported(room) is not None
    room.commands.clear()
    room.wait(1000.0)
    assert room.commands == []
    late = room.client()
    (answer,) = late.say(Connect("ann", clean_start=False, properties=PATIENT))
    assert isinstance(answer, Connack)
    assert answer.reason == Reason.SERVER_BUSY
    room.door.moves.thaw("ann", room.now)
    room.wait(0.0)
    assert [type(command) for command in room.commands] == [io.Publish, io.Detach]


def test_a_client_that_is_not_heard_is_not_found_silent() -> None:
    room = Room()
    client = _joined(room, keep_alive_s=2)
    assert _exported(room) is not None
    room.wait(60.0)
    assert not client.closed
    client.vanish()
    assert not any(isinstance(command, io.Detach) for command in room.commands)


def test_a_session_that_begins_anew_while_it_comes_to_rest_stays() -> None:
    room = Room()
    _joined(room)
    _events(room, "a/1")
    assert _exported(room) is None
    client = _joined(room)
    room.wait(5.0)
    assert _ready(room) == {}
    assert client.say(Subscribe(2, (Request("b"),))) == [Suback(2, (0,))]


def test_one_that_may_still_be_taken_back_is_here_and_its_client_has_to_wait() -> None:
    old = Room()
    _joined(old)
    state = _exported(old)
    assert state is not None
    new = _arrived(state)
    moves = Moves(new.door, {})
    moves.perform(io.Reserve("ann"), new.now)
    _events(new, "a/1")
    [answer] = new.client().say(Connect("ann", clean_start=False))
    assert isinstance(answer, Connack)
    assert answer.reason == Reason.SERVER_BUSY
    moves.perform(io.Admit("ann"), new.now)
    client = new.join("ann", clean_start=False)
    assert client.connack.session_present
    assert _publishes(client) == [("a/1", 1, 1, False)]
