"""Each fault that the standard names, as the bytes that have it."""

from __future__ import annotations

import pytest

from reknit.mqtt import packets
from reknit.mqtt.decode import decode, decode_level
from reknit.mqtt.packets import V3_1_1, V5_0
from reknit.mqtt.reasons import ProtocolError, Reason, UnsupportedVersion

MALFORMED, PROTOCOL = Reason.MALFORMED_PACKET, Reason.PROTOCOL_ERROR
NAME = "00044d515454"

FAULTS_OF_BOTH = [
    ("type 0", "00", "", MALFORMED),
    ("reserved flags of CONNECT", "11", NAME + "0402003c000161", MALFORMED),
    ("reserved flags of PUBACK", "41", "0001", MALFORMED),
    ("reserved flags of PUBREL", "60", "0001", MALFORMED),
    ("reserved flags of SUBSCRIBE", "80", "0001000161" + "00", MALFORMED),
    ("reserved flags of PINGREQ", "c1", "", MALFORMED),
    ("reserved flags of DISCONNECT", "e8", "", MALFORMED),
    ("QoS 3", "36", "0001610001", MALFORMED),
    ("a repeated PUBLISH of QoS 0", "38", "000161", MALFORMED),
    ("PUBLISH with packet identifier 0", "32", "0001610000", PROTOCOL),
    ("PUBLISH without a packet identifier", "32", "000161", MALFORMED),
    ("PUBLISH that ends within its topic", "30", "000561", MALFORMED),
    ("PUBLISH of nothing", "30", "", MALFORMED),
    ("a topic with +", "30", "00012b00", Reason.TOPIC_INVALID),
    ("a topic with #", "30", "000361" + "2f23" + "00", Reason.TOPIC_INVALID),
    ("a topic with U+0000", "30", "00010000", MALFORMED),
    ("a topic with a surrogate", "30", "0003eda08000", MALFORMED),
    ("a topic that is not UTF-8", "30", "0001ff00", MALFORMED),
    ("PUBACK of packet 0", "40", "0000", PROTOCOL),
    ("half a PUBACK", "40", "00", MALFORMED),
    ("bytes after a PINGREQ", "c0", "00", MALFORMED),
    ("half a SUBSCRIBE", "82", "00", MALFORMED),
    ("SUBSCRIBE of packet 0", "82", "0000", PROTOCOL),
    ("UNSUBSCRIBE of packet 0", "a2", "0000", PROTOCOL),
    ("half a CONNACK", "20", "00", MALFORMED),
    ("CONNACK with reserved flags", "20", "0200", MALFORMED),
    ("a refusing CONNACK with a session", "20", "0101", PROTOCOL),
]

FAULTS_OF_3_1_1 = [
    ("AUTH", "f0", "", MALFORMED),
    ("SUBSCRIBE without a filter", "82", "0001", PROTOCOL),
    ("UNSUBSCRIBE without a filter", "a2", "0001", PROTOCOL),
    ("an empty filter", "82", "0001000000", PROTOCOL),
    ("a request of QoS 3", "82", "000100016103", MALFORMED),
    ("options of 5.0", "82", "000100016104", MALFORMED),
    ("a request without options", "82", "0001000161", MALFORMED),
    ("bytes after a PUBACK", "40", "000100", MALFORMED),
    ("bytes after a DISCONNECT", "e0", "00", MALFORMED),
    ("an empty topic", "30", "0000", PROTOCOL),
    ("an unknown return code", "20", "0006", MALFORMED),
    ("a password without a user name", "10", NAME + "0442003c0001610000", MALFORMED),
    ("a will of QoS 3", "10", NAME + "041e003c0001610001610000", MALFORMED),
    ("a will's QoS without a will", "10", NAME + "040a003c000161", MALFORMED),
    ("a retained will without a will", "10", NAME + "0422003c000161", MALFORMED),
    ("a will without a topic", "10", NAME + "0406003c00016100000000", Reason.TOPIC_INVALID),
    ("a will with a wildcard", "10", NAME + "0406003c00016100012b0000", Reason.TOPIC_INVALID),
    ("CONNECT with its reserved flag", "10", NAME + "0403003c000161", MALFORMED),
    ("bytes after a CONNECT", "10", NAME + "0402003c00016100", MALFORMED),
    ("CONNECT without a client identifier", "10", NAME + "0402003c", MALFORMED),
    ("an unknown SUBACK code", "90", "000103", MALFORMED),
    ("SUBACK without a reason", "90", "0001", PROTOCOL),
]

FAULTS_OF_5_0 = [
    ("SUBSCRIBE without a filter", "82", "000100", PROTOCOL),
    ("UNSUBSCRIBE without a filter", "a2", "000100", PROTOCOL),
    ("an empty filter", "82", "000100" + "000000", PROTOCOL),
    ("reserved subscription options", "82", "00010000016140", MALFORMED),
    ("a request of QoS 3", "82", "00010000016103", MALFORMED),
    ("retain handling 3", "82", "00010000016130", PROTOCOL),
    ("no local on a shared subscription", "82", "000100000a2473686172652f672f61" + "04", PROTOCOL),
    ("subscription identifier 0", "82", "0001020b00" + "00016100", PROTOCOL),
    ("two subscription identifiers", "82", "0001040b010b02" + "00016100", PROTOCOL),
    ("an empty topic without an alias", "30", "000000", PROTOCOL),
    ("topic alias 0", "30", "000003230000", Reason.TOPIC_ALIAS_INVALID),
    ("two topic aliases", "30", "000006230001230002", PROTOCOL),
    ("a will delay in PUBLISH", "30", "000161051800000001", MALFORMED),
    ("an unknown property", "30", "0001610204" + "00", MALFORMED),
    ("properties beyond the packet", "30", "0001610a", MALFORMED),
    ("a response topic with a wildcard", "30", "000161040800012b", Reason.TOPIC_INVALID),
    ("a payload format of 2", "30", "000161020102", PROTOCOL),
    ("PUBACK with an unknown reason", "40", "000155", PROTOCOL),
    ("DISCONNECT with a reason of SUBACK", "e0", "01", PROTOCOL),
    ("bytes after a PUBACK", "40", "0001000000", MALFORMED),
    ("AUTH with an unknown reason", "f0", "01", PROTOCOL),
    ("AUTH with data and no method", "f0", "1804" + "16000161", PROTOCOL),
    ("CONNECT with data and no method", "10", NAME + "0502003c" + "0416000161" + "000161", PROTOCOL),
    ("CONNECT with receive maximum 0", "10", NAME + "0502003c" + "03210000" + "000161", PROTOCOL),
    ("CONNECT with a packet size of 0", "10", NAME + "0502003c" + "052700000000" + "000161", PROTOCOL),
    ("UNSUBACK without a reason", "b0", "000100", PROTOCOL),
    ("CONNACK with an unknown reason", "20", "00" + "55" + "00", PROTOCOL),
]


@pytest.mark.parametrize("version", [V3_1_1, V5_0])
@pytest.mark.parametrize(
    ("first", "body", "reason"), [c[1:] for c in FAULTS_OF_BOTH], ids=[c[0] for c in FAULTS_OF_BOTH]
)
def test_faults_of_both_versions(first: str, body: str, reason: Reason, version: int) -> None:
    expect(first, body, reason, version)


@pytest.mark.parametrize(
    ("first", "body", "reason"), [c[1:] for c in FAULTS_OF_3_1_1], ids=[c[0] for c in FAULTS_OF_3_1_1]
)
def test_faults_of_3_1_1(first: str, body: str, reason: Reason) -> None:
    expect(first, body, reason, V3_1_1)


@pytest.mark.parametrize(("first", "body", "reason"), [c[1:] for c in FAULTS_OF_5_0], ids=[c[0] for c in FAULTS_OF_5_0])
def test_faults_of_5_0(first: str, body: str, reason: Reason) -> None:
    expect(first, body, reason, V5_0)


def expect(first: str, body: str, reason: Reason, version: int) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode(int(first, 16), bytes.fromhex(body), version)
    assert caught.value.reason is reason, caught.value.why


def test_an_alias_may_stand_for_the_topic() -> None:
    packet = decode(0x30, bytes.fromhex("000003230001"), V5_0)
    assert packet == packets.Publish("", properties=((0x23, 1),))


def test_5_0_allows_a_password_without_a_user_name() -> None:
    packet = decode(0x10, bytes.fromhex(NAME + "0542003c" + "00" + "000161" + "000170"), V5_0)
    assert isinstance(packet, packets.Connect)
    assert (packet.username, packet.password) == (None, b"p")


@pytest.mark.parametrize(("body", "level"), [("00064d514973647003", 3), (NAME + "06", 6), (NAME + "00", 0)])
def test_other_versions_are_named(body: str, level: int) -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        decode_level(bytes.fromhex(body))
    assert caught.value.level == level


def test_what_is_not_mqtt_has_no_version() -> None:
    with pytest.raises(ProtocolError) as caught:
        decode_level(b"\0\4HTTP\5")
    assert caught.value.reason is PROTOCOL
    assert not isinstance(caught.value, UnsupportedVersion)
