from __future__ import annotations

import pytest

from reknit.mqtt import packets
from reknit.mqtt.encode import encode
from reknit.mqtt.packets import V3_1_1, V5_0, Packet
from reknit.mqtt.parser import TOPICS_CACHED_MAX, Parser
from reknit.mqtt.reasons import ProtocolError, Reason


def read(parser: Parser, *slices: bytes) -> tuple[list[Packet], Reason | None]:
    """What a stream gives: its packets, and the fault that ends it."""
    found: list[Packet] = []
    try:
        for data in slices:
            found.extend(parser.feed(data))
    except ProtocolError as error:
        return found, error.reason
    return found, None


def one_by_one(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


@pytest.mark.parametrize("version", [V3_1_1, V5_0])
def test_a_connect_settles_the_version(version: int) -> None:
    parser = Parser()
    connect, publish = packets.Connect("a", version), packets.Publish("t", b"p", 1, 3)
    stream = encode(connect, version) + encode(publish, version) * 2
    assert read(parser, stream) == ([connect, publish, publish], None)
    assert parser.version == version


@pytest.mark.parametrize("first", [packets.Publish("t"), packets.Pingreq(), packets.Connack()])
def test_the_first_packet_must_be_a_connect(first: Packet) -> None:
    assert read(Parser(), encode(first, V5_0)) == ([], Reason.PROTOCOL_ERROR)


def test_a_bad_first_byte_is_refused_at_once() -> None:
    assert read(Parser(), b"G") == ([], Reason.PROTOCOL_ERROR)


def test_packets_before_a_fault_are_given() -> None:
    ping = encode(packets.Pingreq(), V5_0)
    assert read(Parser(version=V5_0), ping + b"\0\0" + ping) == ([packets.Pingreq()], Reason.MALFORMED_PACKET)


@pytest.mark.parametrize("size", [999, 1000])
def test_the_size_is_checked_from_the_header_alone(size: int) -> None:
    header = bytes((0x30,)) + (size - 3 & 0x7F | 0x80).to_bytes(1, "big") + (size - 3 >> 7).to_bytes(1, "big")
    assert read(Parser(999, version=V5_0), header) == ([], Reason.PACKET_TOO_LARGE if size > 999 else None)


def test_the_first_packet_has_a_limit_of_its_own() -> None:
    big = encode(packets.Connect("a", V5_0, username="u" * 200), V5_0)
    assert read(Parser(first_packet_bytes_max=100), big[:3]) == ([], Reason.PACKET_TOO_LARGE)
    after = encode(packets.Publish("t", b"x" * 200), V5_0)
    parser = Parser(first_packet_bytes_max=100)
    assert read(parser, encode(packets.Connect("a"), V5_0) + after)[1] is None


@pytest.mark.parametrize("tail", [b"", b"\x01", b"\x7f\x00\x00"])
def test_a_remaining_length_has_at_most_four_bytes(tail: bytes) -> None:
    assert read(Parser(version=V3_1_1), b"\x30\xff\xff\xff\xff" + tail) == ([], Reason.MALFORMED_PACKET)


def test_a_padded_remaining_length_is_a_fault_in_5_0_only() -> None:
    assert read(Parser(version=V3_1_1), b"\xc0\x80\x00") == ([packets.Pingreq()], None)
    assert read(Parser(version=V5_0), b"\xc0\x80\x00") == ([], Reason.MALFORMED_PACKET)


@pytest.mark.parametrize("version", [V3_1_1, V5_0])
@pytest.mark.parametrize("qos", [0, 1])
def test_the_quick_way_knows_the_same_faults(version: int, qos: int) -> None:
    """Each truncation of a PUBLISH, once with its topic unknown and once with it known."""
    packet = packets.Publish("abc", b"", qos, qos * 7)
    whole = encode(packet, version)
    for size in range(len(whole) - 2):
        short = bytes((whole[0], size)) + whole[2 : 2 + size]
        known = Parser(version=version)
        assert read(known, whole) == ([packet], None)
        assert read(known, short + whole) == read(Parser(version=version), short + whole)


def test_a_topic_that_reaches_into_the_next_packet_is_a_fault() -> None:
    parser = Parser(version=V3_1_1)
    read(parser, encode(packets.Publish("abcdefgh"), V3_1_1))
    stream = b"\x30\x05\0\x08abc" + b"defgh" + bytes(20)
    assert read(parser, stream) == ([], Reason.MALFORMED_PACKET)


def test_the_cache_of_topics_is_bounded() -> None:
    topics: dict[bytes, str] = {}
    parser = Parser(version=V3_1_1, topics=topics)
    for number in range(TOPICS_CACHED_MAX + 10):
        read(parser, encode(packets.Publish(f"t/{number}"), V3_1_1))
    assert 0 < len(topics) <= TOPICS_CACHED_MAX


def test_a_large_packet_in_small_slices() -> None:
    packet = packets.Publish("t", bytes(300_000), 1, 1)
    wire = encode(packet, V5_0)
    slices = [wire[at : at + 7] for at in range(0, len(wire), 7)]
    assert read(Parser(version=V5_0), *slices) == ([packet], None)


def test_byte_by_byte() -> None:
    stream = encode(packets.Connect("a"), V5_0) + encode(packets.Publish("t", b"p"), V5_0) * 3
    assert read(Parser(), *one_by_one(stream)) == read(Parser(), stream)


@pytest.mark.parametrize("version", [V3_1_1, V5_0])
@pytest.mark.parametrize("size", [0, 1, 100, 124, 200, 20_000])
def test_a_lone_publish_is_what_the_stream_would_give(version: int, size: int) -> None:
    parser = Parser(version=version)
    whole = encode(packets.Publish("a/topic", b"x" * size), version)
    assert parser.lone(whole) is None  # the topic is not known to be good yet
    assert list(parser.feed(whole)) == [packets.Publish("a/topic", b"x" * size)]
    lone = parser.lone(whole)
    assert lone in (("a/topic", b"x" * size), None)
    assert lone is not None or size == 20_000


@pytest.mark.parametrize("version", [V3_1_1, V5_0])
def test_whatever_is_not_one_whole_plain_publish_is_no_lone_one(version: int) -> None:
    parser = Parser(version=version)
    whole = encode(packets.Publish("a/topic", b"payload"), version)
    list(parser.feed(whole))
    others = [whole[:-1], whole + whole, whole + b"\x30", encode(packets.Publish("a/topic", b"p", 1, 7), version)]
    assert [parser.lone(each) for each in others] == [None] * len(others)
    assert list(parser.feed(whole[:5])) == []
    assert parser.lone(whole) is None  # the rest of a packet comes first


@pytest.mark.parametrize("version", [V3_1_1, V5_0])
def test_a_lone_publish_is_no_larger_than_any_other(version: int) -> None:
    small = encode(packets.Publish("a/topic", b"x"), version)
    parser = Parser(len(small), version=version)
    list(parser.feed(small))
    assert parser.lone(small) == ("a/topic", b"x")
    large = encode(packets.Publish("a/topic", b"xx"), version)
    assert parser.lone(large) is None
    with pytest.raises(ProtocolError, match="the limit is"):
        list(parser.feed(large))


@pytest.mark.parametrize("version", [V3_1_1, V5_0])
@pytest.mark.parametrize("size", [3, 200])
def test_a_damaged_lone_publish_is_never_read_otherwise_than_by_the_stream(version: int, size: int) -> None:
    whole = encode(packets.Publish("a/topic", b"x" * size), version)
    for at in range(14):
        for byte in range(256):
            damaged = whole[:at] + bytes((byte,)) + whole[at + 1 :]
            parser = Parser(version=version)
            list(parser.feed(whole))
            lone = parser.lone(damaged)
            if lone is not None:
                assert read(parser, damaged) == ([packets.Publish(*lone)], None)


def test_whether_a_client_ends_its_connection_is_seen_without_reading() -> None:
    publish, goodbye = packets.Publish("t", bytes(200), 1, 3), packets.Disconnect()
    for version in (V3_1_1, V5_0):
        stream = encode(publish, version) * 2
        parser = Parser(version=version)
        assert read(parser, stream[:20]) == ([], None)  # the first one has begun
        assert not parser.ends(stream[20:])
        assert all(not parser.ends(stream[20:] + encode(goodbye, version)[:size]) for size in (0, 1))
        assert parser.ends(stream[20:] + encode(goodbye, version))
        assert read(parser, stream[20:] + encode(goodbye, version)) == ([publish, publish, goodbye], None)


def test_a_fault_ends_a_connection_too() -> None:
    assert Parser(version=V5_0).ends(b"\x30\xff\xff\xff\xff\x01")
    assert not Parser(version=V5_0).ends(b"\x30\xff")
