"""What a publisher says beside the content: how long a message is good, where to answer; and numbers for topics."""

from __future__ import annotations

from reknit.mqtt.packets import V3_1_1, Puback, Publish, Request, Subscribe
from reknit.mqtt.properties import Properties, PropertyId
from reknit.mqtt.reasons import Reason
from tests.mqtt.conversation import Room


def number(alias: int) -> Properties:
    return ((PropertyId.TOPIC_ALIAS, alias),)


def good_for(seconds: int) -> Properties:
    return ((PropertyId.MESSAGE_EXPIRY, seconds),)


def test_a_client_may_use_numbers_for_topics() -> None:
    room = Room()
    listener = room.join("s")
    listener.say(Subscribe(1, (Request("#"),)))
    client = room.join("p")
    client.say(Publish("a", b"1", properties=number(1)), Publish("", b"2", properties=number(1)))
    client.say(Publish("b", b"3", properties=number(1)), Publish("", b"4", 1, 1, properties=number(1)))
    assert listener.listen() == [Publish("a", b"1"), Publish("a", b"2"), Publish("b", b"3"), Publish("b", b"4")]


def test_a_number_is_one_connections_own() -> None:
    room = Room()
    room.join("p").say(Publish("a", b"1", properties=number(1)))
    other = room.join("q")
    other.say(Publish("", b"2", properties=number(1)))
    assert other.closed


def test_a_client_that_allows_it_is_sent_numbers() -> None:
    room = Room(topic_aliases_out_max=2)
    client = room.join("s", properties=((PropertyId.TOPIC_ALIAS_MAXIMUM, 10),))
    client.say(Subscribe(1, (Request("#"),)))
    room.join("p").say(*(Publish(topic, b"") for topic in ("a", "b", "c", "a", "c")))
    assert client.listen() == [
        Publish("a", properties=number(1)),
        Publish("b", properties=number(2)),
        Publish("c"),
        Publish("", properties=number(1)),
        Publish("c"),
    ]
    plain = room.join("t")
    plain.say(Subscribe(1, (Request("#"),)))
    room.join("p2").say(Publish("a"))
    assert plain.listen() == [Publish("a")]


def test_what_waits_for_too_long_is_not_sent_and_the_rest_says_what_is_left() -> None:
    room = Room()
    lasting: Properties = ((PropertyId.SESSION_EXPIRY, 100),)
    client = room.join("s", properties=lasting)
    client.say(Subscribe(1, (Request("t", 1),)))
    client.vanish()
    sent = [Publish("t", b"short", 1, 1, properties=good_for(5)), Publish("t", b"long", 1, 2, properties=good_for(50))]
    room.join("p").say(*sent)
    room.wait(10.0)
    client = room.join("s", clean_start=False, properties=lasting)
    assert client.listen() == [Publish("t", b"long", 1, 2, properties=good_for(40))]
    assert room.door.counters.dropped == {"expired": 1}


def test_a_question_says_where_to_answer_and_3_1_1_does_not_see_it() -> None:
    room = Room()
    new, old = room.join("s"), room.join("t", V3_1_1)
    for client in (new, old):
        client.say(Subscribe(1, (Request("t"),)))
    said: Properties = ((PropertyId.RESPONSE_TOPIC, "r"), (PropertyId.CORRELATION_DATA, b"7"))
    room.join("p").say(Publish("t", b"?", properties=said))
    assert new.listen() == [Publish("t", b"?", properties=said)]
    assert old.listen() == [Publish("t", b"?")]


def test_text_that_is_none_is_refused() -> None:
    client = Room().join("p")
    said: Properties = ((PropertyId.PAYLOAD_FORMAT, 1),)
    assert client.say(Publish("t", b"\xff", 1, 1, properties=said)) == [Puback(1, Reason.PAYLOAD_FORMAT_INVALID)]
