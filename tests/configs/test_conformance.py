"""What tests of conformance from outside look at, each by a test of our own: real sockets, the shipped configuration.

The names say which behaviour of a server it is; those that both versions have are tested in both. Where a test waits
for a time of the protocol (a keep alive, a delay, an expiry), it waits for what follows, and judges the order.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from typing import Any, TypeAlias

import pytest

from reknit.mqtt.encode import encode
from reknit.mqtt.packets import (
    V3_1_1,
    V5_0,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Request,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
    Will,
)
from reknit.mqtt.parser import Parser
from reknit.mqtt.properties import Properties, PropertyId, integer, integers, pairs, text
from tests.configs.test_configs import broker

LIMIT_S = 20.0
LASTING: Properties = ((PropertyId.SESSION_EXPIRY, 600),)
VERSIONS = pytest.mark.parametrize("version", [V3_1_1, V5_0], ids=["3.1.1", "5.0"])


class Peer:
    """One connection, packet by packet. It acknowledges what it hears, unless it is told to keep silent."""

    def __init__(self, port: int, version: int) -> None:
        self.version = version
        self.silent = False
        self.connack = Connack()
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        self._parser = Parser(version=version)
        self._heard: list[Packet] = []
        self._idents = count(1)

    def say(self, *packets: Packet) -> None:
        self._socket.sendall(b"".join(encode(each, self.version) for each in packets))

    def hear(self) -> Packet:
        while not self._heard:
            data = self._socket.recv(1 << 16)
            if not data:
                raise EOFError("the server has closed the connection")
            self._heard += self._parser.feed(data)
        packet = self._heard.pop(0)
        if isinstance(packet, Publish) and packet.qos and not self.silent:
            self.say(Puback(packet.packet_id) if packet.qos == 1 else Pubrec(packet.packet_id))
        if isinstance(packet, Pubrel) and not self.silent:
            self.say(Pubcomp(packet.packet_id))
        return packet

    def messages(self, number: int) -> list[Publish]:
        """The next so many, whatever comes between them."""
        found: list[Publish] = []
        while len(found) < number:
            if isinstance(packet := self.hear(), Publish):
                found.append(packet)
        return found

    def rest(self) -> list[Publish]:
        """All messages that the server has for it now: its answer to a ping stands behind them."""
        self.say(Pingreq())
        found: list[Publish] = []
        while not isinstance(packet := self.hear(), Pingresp):
            found += [packet] if isinstance(packet, Publish) else []
        return found

    def answer(self, *packets: Packet) -> Any:
        """The answer to what is said here."""
        self.say(*packets)
        return self.hear()

    def subscribe(self, *requests: Request, said: Properties = ()) -> tuple[int, ...]:
        answer = self.answer(Subscribe(next(self._idents), requests, said))
        assert isinstance(answer, Suback)
        return answer.reasons

    def publish(
        self, topic: str, payload: bytes = b"", qos: int = 1, retain: bool = False, said: Properties = ()
    ) -> None:
        """And wait until it is taken; what comes meanwhile is heard later."""
        ident = next(self._idents) if qos else 0
        self.say(Publish(topic, payload, qos, ident, retain, properties=said))
        if qos:
            self._until(Puback if qos == 1 else Pubrec)
        if qos == 2:
            self.say(Pubrel(ident))
            self._until(Pubcomp)

    def _until(self, kind: type[Packet]) -> None:
        others: list[Packet] = []
        while not isinstance(packet := self.hear(), kind):
            others.append(packet)
        self._heard[:0] = others

    def die(self) -> None:
        """Without a goodbye."""
        self._socket.close()

    def leave(self, *said: Disconnect) -> None:
        self.say(*(said or (Disconnect(),)))
        assert self.farewell() is None
        self._socket.close()

    def farewell(self) -> int | None:
        """The server closes the connection; with which reason, if it says one."""
        reason: int | None = None
        try:
            while True:
                packet = self.hear()
                reason = packet.reason if isinstance(packet, Disconnect) else reason
        except EOFError:
            return reason


Meet: TypeAlias = Callable[..., Peer]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with broker("conformance.toml", tmp_path_factory.mktemp("conformance")) as found:
        yield found


@pytest.fixture
def meet(port: int) -> Iterator[Meet]:
    """A client that was let in."""
    with ExitStack() as ends:

        def connect(name: str, version: int = V5_0, *, clean_start: bool = True, **terms: Any) -> Peer:
            peer = Peer(port, version)
            ends.callback(peer.die)
            peer.connack = peer.answer(Connect(name, version, clean_start, **terms))
            assert peer.connack.reason == 0
            return peer

        yield connect


def lasting(version: int) -> dict[str, Any]:
    """The terms of a session that outlives its connection."""
    return {"clean_start": False, "properties": LASTING if version == V5_0 else ()}


def told(messages: list[Publish]) -> list[tuple[str, bytes, int]]:
    return [(each.topic, each.payload, each.qos) for each in messages]


# --- both versions


@VERSIONS
def test_basic(meet: Meet, version: int) -> None:
    peer = meet("basic", version)
    assert peer.subscribe(Request("basic/#", 2)) == (2,)
    for qos in (0, 1, 2):
        peer.publish("basic/a", b"%d" % qos, qos)
    assert told(peer.messages(3)) == [("basic/a", b"%d" % qos, qos) for qos in (0, 1, 2)]
    assert peer.rest() == []
    peer.leave()


@VERSIONS
def test_a_second_connection_takes_the_first_ones_place(meet: Meet, version: int) -> None:
    first = meet("twice", version)
    meet("twice", version)
    assert first.farewell() == (0x8E if version == V5_0 else None)


@VERSIONS
def test_retained_messages(meet: Meet, version: int) -> None:
    peer = meet("retained", version)
    topics = [f"kept{version}/{qos}" for qos in (0, 1, 2)]
    for qos, topic in enumerate(topics):
        peer.publish(topic, b"x", qos, retain=True)
    peer.subscribe(Request(f"kept{version}/#", 2))
    found = peer.messages(3)
    assert sorted(told(found)) == [(topic, b"x", qos) for qos, topic in enumerate(topics)]
    assert all(each.retain for each in found)
    for topic in topics:
        peer.publish(topic, b"", 1, retain=True)
    assert [each.payload for each in peer.messages(3)] == [b""] * 3
    other = meet("retained2", version)
    other.subscribe(Request(f"kept{version}/#", 2))
    assert other.rest() == []


@VERSIONS
def test_offline_message_queueing(meet: Meet, version: int) -> None:
    away = meet("away", version, **lasting(version))
    away.subscribe(Request("queue/#", 2))
    away.leave()
    other = meet("queuer", version)
    for qos in (1, 2):
        other.publish(f"queue/{qos}", b"x", qos)
    again = meet("away", version, **lasting(version))
    assert again.connack.session_present
    assert told(again.messages(2)) == [("queue/1", b"x", 1), ("queue/2", b"x", 2)]
    assert again.rest() == []
    again.leave()
    assert not meet("away", version).connack.session_present  # a clean start forgets it


@VERSIONS
def test_overlapping_subscriptions(meet: Meet, version: int) -> None:
    """One copy, at the larger QoS; with both identifiers in 5.0."""
    peer = meet("overlap", version)
    peer.subscribe(Request("over/#", 2), said=((PropertyId.SUBSCRIPTION_ID, 1),) if version == V5_0 else ())
    peer.subscribe(Request("over/+", 1), said=((PropertyId.SUBSCRIPTION_ID, 2),) if version == V5_0 else ())
    peer.publish("over/lap", b"x", 2)
    [only] = peer.messages(1)
    assert (only.qos, peer.rest()) == (2, [])
    assert sorted(integers(only.properties, PropertyId.SUBSCRIPTION_ID)) == ([1, 2] if version == V5_0 else [])


@VERSIONS
def test_keep_alive(meet: Meet, version: int) -> None:
    """Who keeps silent for too long is closed, and its will told."""
    witness = meet("witness", version)
    witness.subscribe(Request("alive", 0))
    silent = meet("silent", version, keep_alive_s=1, will=Will("alive", b"it is not"))
    assert told(witness.messages(1)) == [("alive", b"it is not", 0)]
    assert silent.farewell() == (0x8D if version == V5_0 else None)


@VERSIONS
def test_redelivery_on_reconnect(meet: Meet, version: int) -> None:
    deaf = meet(f"deaf{version}", version, **lasting(version))
    deaf.subscribe(Request("again", 2))
    deaf.silent = True
    other = meet("speaker", version)
    for qos in (1, 2):
        other.publish("again", b"x", qos)
    first = deaf.messages(2)
    deaf.die()
    again = meet(f"deaf{version}", version, **lasting(version))
    second = again.messages(2)
    assert [(each.packet_id, each.qos, each.dup) for each in first] == [(1, 1, False), (2, 2, False)]
    assert [(each.packet_id, each.qos, each.dup) for each in second] == [(1, 1, True), (2, 2, True)]
    assert again.rest() == []


@VERSIONS
def test_zero_length_client_id(meet: Meet, port: int, version: int) -> None:
    meet("", version)
    if version == V3_1_1:
        peer = Peer(port, version)
        assert peer.answer(Connect("", version, clean_start=False)).reason == 2
        peer.die()


@VERSIONS
def test_dollar_topics(meet: Meet, version: int) -> None:
    peer = meet("dollar", version)
    peer.subscribe(Request("#", 1), Request("+/dollar", 1))
    peer.publish("$other/dollar", b"x")
    peer.publish("other/dollar", b"y")
    assert [each.payload for each in peer.rest() if each.topic.endswith("dollar")] == [b"y"]


@VERSIONS
def test_unsubscribe(meet: Meet, version: int) -> None:
    peer = meet("unsubscribe", version)
    peer.subscribe(Request("un/a", 1), Request("un/b", 1), Request("un/c", 1))
    answer = peer.answer(Unsubscribe(9, ("un/a",)))
    assert isinstance(answer, Unsuback)
    assert (answer.packet_id, answer.reasons) == (9, (0,) if version == V5_0 else ())
    for topic in ("un/a", "un/b", "un/c"):
        peer.publish(topic)
    assert [each.topic for each in peer.rest()] == ["un/b", "un/c"]


@VERSIONS
def test_subscribe_failure(meet: Meet, version: int) -> None:
    assert meet("refused", version).subscribe(Request("test/nosubscribe", 1), Request("fine", 1)) == (0x80, 1)


@VERSIONS
def test_will_message(meet: Meet, version: int) -> None:
    witness = meet("heir", version)
    witness.subscribe(Request("will/#", 2))
    meet("testator", version, will=Will("will/a", b"gone", 2)).die()
    assert told(witness.messages(1)) == [("will/a", b"gone", 2)]
    meet("testator", version, will=Will("will/a", b"gone", 2)).leave()
    assert witness.rest() == []


# --- 5.0


def test_will_delay(meet: Meet) -> None:
    """It comes after its delay; not if its client is back before; and at the end of its session at the latest."""
    witness = meet("heir")
    witness.subscribe(Request("delayed/#", 1))
    delay: Properties = ((PropertyId.WILL_DELAY, 1),)
    terms = {"clean_start": False, "properties": LASTING}
    meet("late", will=Will("delayed/late", properties=delay), **terms).die()
    meet("back", will=Will("delayed/back", properties=delay), **terms).die()
    meet("back", **terms)
    brief: Properties = ((PropertyId.WILL_DELAY, 500),)
    meet("brief", will=Will("delayed/brief", properties=brief)).die()  # its session ends with the connection
    assert [each.topic for each in witness.messages(2)] == ["delayed/brief", "delayed/late"]
    assert witness.rest() == []


def test_session_expiry(meet: Meet) -> None:
    def expiring(seconds: int, clean: bool = False) -> Peer:
        return meet("expiring", clean_start=clean, properties=((PropertyId.SESSION_EXPIRY, seconds),))

    expiring(0, clean=True).leave()
    peer = expiring(600)
    assert not peer.connack.session_present
    peer.leave()
    peer = expiring(600)
    assert peer.connack.session_present
    peer.leave(Disconnect(0, ((PropertyId.SESSION_EXPIRY, 0),)))  # it has thought better of it
    peer = expiring(0)
    assert not peer.connack.session_present
    answer = peer.answer(Disconnect(0, ((PropertyId.SESSION_EXPIRY, 5),)))
    assert (type(answer), answer.reason) == (Disconnect, 0x82)


def test_session_expiry_runs_out(meet: Meet) -> None:
    """What ends first is seen by its will, which is due then."""
    witness = meet("heir")
    witness.subscribe(Request("expired", 1))
    will = Will("expired", properties=((PropertyId.WILL_DELAY, 500),))
    meet("brief", clean_start=True, will=will, properties=((PropertyId.SESSION_EXPIRY, 1),)).die()
    assert len(witness.messages(1)) == 1
    assert not meet("brief", clean_start=False, properties=LASTING).connack.session_present


def test_message_expiry(meet: Meet) -> None:
    """What waits for too long is gone; what is delivered says how long it still has."""
    away = meet("patient", **lasting(V5_0))
    away.subscribe(Request("expiry/#", 1))
    away.leave()
    other = meet("hasty")
    other.subscribe(Request("expired/yet", 1))
    other.publish("expiry/soon", said=((PropertyId.MESSAGE_EXPIRY, 1),))
    other.publish("expiry/late", said=((PropertyId.MESSAGE_EXPIRY, 60),))
    will = Will("expired/yet", properties=((PropertyId.WILL_DELAY, 3),))
    meet("clock", clean_start=False, will=will, properties=LASTING).die()
    other.messages(1)  # by now the first one has expired
    found = meet("patient", **lasting(V5_0)).rest()
    assert [each.topic for each in found] == ["expiry/late"]
    assert 0 < integer(found[0].properties, PropertyId.MESSAGE_EXPIRY, 0) < 60


def test_shared_subscriptions(meet: Meet) -> None:
    members = [meet(f"member{number}") for number in range(2)]
    for member in members:
        member.subscribe(Request("$share/group/shared", 1))
    alone = meet("alone")
    alone.subscribe(Request("shared", 1))
    for number in range(10):
        alone.publish("shared", b"%d" % number)
    wanted = [b"%d" % number for number in range(10)]
    assert [each.payload for each in alone.rest()] == wanted
    parts = [[each.payload for each in member.rest()] for member in members]
    assert sorted(parts[0] + parts[1]) == wanted
    assert all(parts)
    refused = members[0]
    refused.say(Subscribe(8, (Request("$share/group/x", 1, no_local=True),)))
    assert isinstance(answer := refused.hear(), Disconnect)
    assert answer.reason == 0x82


def test_user_properties_and_payload_format_and_content_type(meet: Meet) -> None:
    peer = meet("properties")
    peer.subscribe(Request("properties", 2))
    said: Properties = (
        (PropertyId.PAYLOAD_FORMAT, 1),
        (PropertyId.CONTENT_TYPE, "text/plain"),
        (PropertyId.USER_PROPERTY, ("a", "2")),
        (PropertyId.USER_PROPERTY, ("c", "3")),
        (PropertyId.USER_PROPERTY, ("a", "1")),
    )
    for qos in (0, 1, 2):
        peer.publish("properties", "grüße".encode(), qos, said=said)
    for each in peer.messages(3):
        assert list(pairs(each.properties)) == [("a", "2"), ("c", "3"), ("a", "1")]
        assert integer(each.properties, PropertyId.PAYLOAD_FORMAT, 0) == 1
        assert text(each.properties, PropertyId.CONTENT_TYPE) == "text/plain"


def test_subscribe_options(meet: Meet) -> None:
    """No local, retain as published, and when retained messages are sent."""
    one, other = meet("one"), meet("other")
    one.subscribe(Request("options/#", 1, no_local=True))
    other.subscribe(Request("options/#", 1, retain_as_published=True))
    one.publish("options/x", b"x", retain=True)
    assert one.rest() == []
    assert [each.retain for each in other.rest()] == [True]
    other.publish("options/y", b"y", retain=True)
    assert [each.retain for each in one.rest()] == [False]
    other.rest()
    counts = []
    for handling in (0, 1, 2, 0):
        other.subscribe(Request("options/x", 1, retain_handling=handling))
        counts.append(len(other.rest()))
    assert counts == [1, 0, 0, 1]  # 1 means: only if it is a new one
    for topic in ("options/x", "options/y"):
        other.publish(topic, b"", retain=True)


def test_assigned_client_id(meet: Meet) -> None:
    names = [text(meet("").connack.properties, PropertyId.ASSIGNED_CLIENT_ID) for _ in range(2)]
    assert all(names)
    assert names[0] != names[1]
    assert not text(meet("named").connack.properties, PropertyId.ASSIGNED_CLIENT_ID)


def test_subscription_identifiers(meet: Meet) -> None:
    one, other = meet("one"), meet("other")
    one.subscribe(Request("ident", 1), said=((PropertyId.SUBSCRIPTION_ID, 456789),))
    other.subscribe(Request("ident", 1), said=((PropertyId.SUBSCRIPTION_ID, 2),))
    other.subscribe(Request("ident/#", 1), said=((PropertyId.SUBSCRIPTION_ID, 3),))
    one.publish("ident")
    found = [integers(each.properties, PropertyId.SUBSCRIPTION_ID) for peer in (one, other) for each in peer.rest()]
    assert [sorted(each) for each in found] == [[456789], [2, 3]]


def test_request_and_response(meet: Meet) -> None:
    asker, answerer = meet("asker"), meet("answerer")
    asker.subscribe(Request("answer", 1))
    answerer.subscribe(Request("ask", 1))
    said: Properties = ((PropertyId.RESPONSE_TOPIC, "answer"), (PropertyId.CORRELATION_DATA, b"334"))
    asker.publish("ask", b"request", said=said)
    [request] = answerer.messages(1)
    assert text(request.properties, PropertyId.RESPONSE_TOPIC) == "answer"
    correlation = [each for each in request.properties if each[0] == PropertyId.CORRELATION_DATA]
    answerer.publish("answer", b"response", said=tuple(correlation))
    [response] = asker.messages(1)
    assert (response.payload, response.properties) == (b"response", ((PropertyId.CORRELATION_DATA, b"334"),))


def test_client_topic_alias(meet: Meet) -> None:
    peer = meet("alias")
    most = integer(peer.connack.properties, PropertyId.TOPIC_ALIAS_MAXIMUM, 0)
    assert most > 0
    peer.subscribe(Request("aliased/#", 1))
    alias: Properties = ((PropertyId.TOPIC_ALIAS, 1),)
    peer.publish("aliased/a", b"1", said=alias)
    peer.publish("", b"2", said=alias)
    peer.publish("aliased/b", b"3", said=alias)  # another topic under the same number
    peer.publish("", b"4", said=alias)
    assert [(each.topic, each.payload) for each in peer.rest()] == [
        ("aliased/a", b"1"),
        ("aliased/a", b"2"),
        ("aliased/b", b"3"),
        ("aliased/b", b"4"),
    ]


@pytest.mark.parametrize("number", [0, 65_535])
def test_a_topic_alias_that_is_none(meet: Meet, number: int) -> None:
    peer = meet("alias")
    peer.say(Publish("aliased/a", b"", 0, properties=((PropertyId.TOPIC_ALIAS, number),)))
    answer = peer.hear()
    assert isinstance(answer, Disconnect)
    assert answer.reason == 0x94


def test_a_topic_alias_does_not_outlive_its_connection(meet: Meet) -> None:
    peer = meet("alias", properties=LASTING)
    peer.publish("aliased/a", b"1", said=((PropertyId.TOPIC_ALIAS, 1),))
    peer.leave()
    again = meet("alias", clean_start=False, properties=LASTING)
    again.say(Publish("", b"2", 0, properties=((PropertyId.TOPIC_ALIAS, 1),)))
    answer = again.hear()
    assert isinstance(answer, Disconnect)
    assert answer.reason in (0x82, 0x94)


def test_server_topic_alias(meet: Meet) -> None:
    peer = meet("aliases", properties=((PropertyId.TOPIC_ALIAS_MAXIMUM, 1),))
    peer.subscribe(Request("named/#", 1))
    for _ in range(2):
        peer.publish("named/a")
        peer.publish("named/b")
    found = [(each.topic, integer(each.properties, PropertyId.TOPIC_ALIAS, 0)) for each in peer.rest()]
    assert found == [("named/a", 1), ("named/b", 0), ("", 1), ("named/b", 0)]


def test_maximum_packet_size(meet: Meet) -> None:
    """The client's holds for the server, which drops what is larger; and the server's for the client."""
    peer = meet("small", properties=((PropertyId.MAXIMUM_PACKET_SIZE, 100),))
    peer.subscribe(Request("size", 1))
    peer.publish("size", bytes(200))
    peer.publish("size", bytes(20))
    assert [len(each.payload) for each in peer.rest()] == [20]
    most = integer(peer.connack.properties, PropertyId.MAXIMUM_PACKET_SIZE, 0)
    assert most == 1024 * 1024
    peer.say(Publish("size", bytes(most)))
    answer = peer.hear()
    assert isinstance(answer, Disconnect)
    assert answer.reason == 0x95


def test_server_keep_alive(meet: Meet) -> None:
    assert integer(meet("k", keep_alive_s=120).connack.properties, PropertyId.SERVER_KEEP_ALIVE, 0) == 60
    assert integer(meet("k", keep_alive_s=0).connack.properties, PropertyId.SERVER_KEEP_ALIVE, 0) == 60
    assert integer(meet("k", keep_alive_s=30).connack.properties, PropertyId.SERVER_KEEP_ALIVE, 0) == 0


def test_flow_control_from_the_client(meet: Meet) -> None:
    """Of QoS 2 it may have no more under way than the server takes: the next one ends it."""
    peer = meet("flood")
    most = integer(peer.connack.properties, PropertyId.RECEIVE_MAXIMUM, 0)
    assert most == 20
    for ident in range(1, most + 1):
        assert isinstance(peer.answer(Publish("flood", b"", 2, ident)), Pubrec)
    answer = peer.answer(Publish("flood", b"", 2, most + 1))
    assert isinstance(answer, Disconnect)
    assert answer.reason == 0x93


@pytest.mark.parametrize("qos", [1, 2])
def test_flow_control_to_the_client(meet: Meet, qos: int) -> None:
    """The server sends no more than the client takes, and the others as there is room."""
    slow, other = meet("slow", properties=((PropertyId.RECEIVE_MAXIMUM, 3),)), meet("quick")
    slow.subscribe(Request("flow", 2))
    slow.silent = True
    for number in range(10):
        other.publish("flow", b"%d" % number, qos)
    first = slow.rest()
    assert [each.payload for each in first] == [b"0", b"1", b"2"]
    slow.silent = False
    for each in first:
        slow.say(Puback(each.packet_id) if qos == 1 else Pubrec(each.packet_id))
    assert [each.payload for each in slow.messages(7)] == [b"%d" % number for number in range(3, 10)]
