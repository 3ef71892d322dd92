"""The parser, whole and byte by byte: it gives packets, or raises its documented error, and slicing changes nothing."""

from __future__ import annotations

import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.mqtt import packets
from reknit.mqtt.encode import encode
from reknit.mqtt.packets import V3_1_1, V5_0, Packet
from reknit.mqtt.parser import Parser
from reknit.mqtt.reasons import ProtocolError
from tests.mqtt.strategies import VERSIONS, packets_of

Reading = tuple[list[Packet], str]


def read(version: int, *slices: bytes) -> Reading:
    """The packets of a stream, and the error that ends it; anything but a ``ProtocolError`` fails the test."""
    parser = Parser(10_000, version=version)
    found: list[Packet] = []
    try:
        for data in slices:
            found.extend(parser.feed(data))
    except ProtocolError as error:
        return found, str(error)
    return found, ""


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:stop] for start, stop in itertools.pairwise(edges)]


def one_by_one(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


@st.composite
def streams(draw: st.DrawFn) -> tuple[int, bytes]:
    """A few packets of one version, with up to two bytes changed; the version is 0 where a CONNECT is to tell it."""
    version = draw(st.sampled_from(VERSIONS))
    told = draw(st.booleans())
    body = [encode(packet, version) for packet in draw(st.lists(packets_of(version), max_size=4))]
    head = [] if told else [encode(packets.Connect("a", version), version)]
    data = bytearray(b"".join(head + body))
    for _ in range(draw(st.integers(0, 2))):
        if data:
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return (version if told else 0), bytes(data)


@given(streams(), st.lists(st.integers(0, 10_000), max_size=8))
@settings(max_examples=400)
def test_slicing_changes_nothing(stream: tuple[int, bytes], places: list[int]) -> None:
    version, data = stream
    whole = read(version, data)
    assert read(version, *cut(data, places)) == whole
    assert read(version, *one_by_one(data)) == whole


@given(st.sampled_from([0, *VERSIONS]), st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=4))
@settings(max_examples=400)
def test_any_bytes(version: int, data: bytes, places: list[int]) -> None:
    assert read(version, *cut(data, places)) == read(version, data)


def examples(version: int) -> list[bytes]:
    """One rich packet of each type."""
    user = ((0x26, ("k", "v")),) if version == V5_0 else ()
    publish = ((0x01, 1), (0x03, "t"), (0x08, "r"), (0x09, b"c"), *user) if version == V5_0 else ()
    will = packets.Will("w", b"gone", 1, False, user)
    found: list[Packet] = [
        packets.Connect("c", version, False, 9, "u", b"p", will, user),
        packets.Connack(True, 0, user),
        packets.Publish("a/b", b"xy", 0, 0, properties=publish),
        packets.Publish("a/b", b"xy", 2, 515, True, True, publish),
        packets.Publish("a/b", b"xy", 1, 515),
        *(shape(1, 0, user) for shape in (packets.Puback, packets.Pubrec, packets.Pubrel, packets.Pubcomp)),
        packets.Subscribe(1, (packets.Request("a/+", 1), packets.Request("#", 2)), user),
        packets.Suback(1, (0, 0x80), user),
        packets.Unsubscribe(1, ("a/+", "b"), user),
        packets.Unsuback(1, (0, 0x11) if version == V5_0 else (), user),
        packets.Pingreq(),
        packets.Pingresp(),
        packets.Disconnect(0x04 if version == V5_0 else 0, user),
    ]
    if version == V5_0:
        found.append(packets.Auth(0x18, ((0x15, "m"), (0x16, b"d"))))
    return [encode(packet, version) for packet in found]


def test_every_byte_of_every_packet_changed() -> None:
    for version in VERSIONS:
        for wire in examples(version):
            for at in range(len(wire)):
                for value in range(256) if at < 4 else sorted({wire[at] ^ 1 << bit for bit in range(8)} | {0, 255}):
                    read(version, wire[:at] + bytes((value,)) + wire[at + 1 :])


def test_every_packet_cut_short_and_its_length_corrected() -> None:
    for version in VERSIONS:
        for wire in examples(version):
            for size in range(len(wire) - 2):
                short = bytes((wire[0], size)) + wire[2 : 2 + size]
                found, error = read(version, short)
                assert bool(found) != bool(error)


def test_every_packet_cut_short_is_awaited() -> None:
    for version in VERSIONS:
        for wire in examples(version):
            for size in range(len(wire)):
                assert read(version, wire[:size]) == ([], "")


LEGAL_HEADS = bytes.fromhex("10 20 30 31 32 34 40 50 62 70 82 90 a2 b0 c0 d0 e0 f0")


def test_random_headers_over_random_bodies() -> None:
    rng = random.Random(5)
    outcomes = {"packet": 0, "error": 0}
    for _ in range(20_000):
        body = bytes(rng.choices((0, 1, 2, 97, 255), (9, 4, 2, 2, 1), k=rng.randrange(12)))
        found, error = read(rng.choice((V3_1_1, V5_0)), bytes((rng.choice(LEGAL_HEADS), len(body))) + body)
        assert bool(found) != bool(error)
        outcomes["error" if error else "packet"] += 1
    assert min(outcomes.values()) > 100
