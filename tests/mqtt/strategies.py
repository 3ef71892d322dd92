"""Strategies for all packets of both versions, shared by the tests of the codec."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from reknit.mqtt import packets
from reknit.mqtt.packets import V3_1_1, V5_0, Packet, PacketType
from reknit.mqtt.properties import TABLE, WILL, Kind, Property, PropertyId
from reknit.mqtt.reasons import ALLOWED

__all__ = ["packets_of", "properties_of", "texts", "topics"]

texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=12)
topics = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0+#"), min_size=1, max_size=12)
filters = texts.filter(lambda text: text and not text.startswith("$share/"))
blobs = st.binary(max_size=12)
packet_ids = st.integers(1, 65_535)


def _value(row: Property) -> st.SearchStrategy[Any]:
    if row.id in (PropertyId.RESPONSE_TOPIC,):
        return topics
    if row.id is PropertyId.TOPIC_ALIAS:
        return st.integers(1, 65_535)
    if row.kind is Kind.PAIR:
        return st.tuples(texts, texts)
    if row.kind is Kind.TEXT:
        return texts
    if row.kind is Kind.BINARY:
        return blobs
    return st.integers(row.low, row.largest)


@cache
def properties_of(packet: int) -> st.SearchStrategy[Any]:
    """Any properties that ``packet`` may carry."""
    rows = [row for row in TABLE.values() if packet in row.packets]
    pair = st.one_of([st.tuples(st.just(int(row.id)), _value(row)) for row in rows])
    return st.lists(pair, max_size=4).map(lambda found: _legal(found, packet))


def _legal(found: list[tuple[int, Any]], packet: int) -> tuple[tuple[int, Any], ...]:
    """Without repetitions that the table forbids, and without authentication data on its own."""
    kept: list[tuple[int, Any]] = []
    for ident, value in found:
        if packet in TABLE[ident].repeatable or all(ident != known for known, _ in kept):
            kept.append((ident, value))
    if all(ident != PropertyId.AUTHENTICATION_METHOD for ident, _ in kept):
        kept = [pair for pair in kept if pair[0] != PropertyId.AUTHENTICATION_DATA]
    return tuple(kept)


@cache
def packets_of(version: int) -> st.SearchStrategy[Packet]:
    """Any packet of ``version``."""
    five = version == V5_0

    def properties(kind: int) -> st.SearchStrategy[Any]:
        return properties_of(kind) if five else st.just(())

    def outcome(shape: Any, kind: int) -> st.SearchStrategy[Packet]:
        reason = st.sampled_from(sorted(ALLOWED[kind])) if five else st.just(0)
        return st.builds(shape, packet_ids, reason, properties(kind))

    will = st.builds(packets.Will, topics, blobs, st.integers(0, 2), st.booleans(), properties(WILL))
    username = st.none() | texts
    connect = st.builds(
        packets.Connect,
        texts,
        st.just(version),
        st.booleans(),
        st.integers(0, 65_535),
        username if five else texts,
        st.none() | blobs,
        st.none() | will,
        properties(PacketType.CONNECT),
    )
    connack_reasons = sorted(ALLOWED[PacketType.CONNACK]) if five else [0, 1, 2, 3, 4, 5]
    connack = st.builds(
        packets.Connack, st.just(False), st.sampled_from(connack_reasons), properties(PacketType.CONNACK)
    ) | st.builds(packets.Connack, st.just(True), st.just(0), properties(PacketType.CONNACK))
    publish_0 = st.builds(
        packets.Publish, topics, blobs, st.just(0), st.just(0), st.booleans(), properties=properties(PacketType.PUBLISH)
    )
    publish = st.builds(
        packets.Publish,
        topics,
        blobs,
        st.integers(1, 2),
        packet_ids,
        st.booleans(),
        st.booleans(),
        properties(PacketType.PUBLISH),
    )
    qos = st.integers(0, 2)
    request = (
        st.builds(packets.Request, filters, qos, st.booleans(), st.booleans(), st.integers(0, 2))
        if five
        else st.builds(packets.Request, filters, qos)
    )
    requests = st.lists(request, min_size=1, max_size=3).map(tuple)
    suback_reasons = sorted(ALLOWED[PacketType.SUBACK]) if five else [0, 1, 2, 0x80]
    some = st.lists(st.sampled_from(suback_reasons), min_size=1, max_size=3).map(tuple)
    unsuback_reasons = (
        st.lists(st.sampled_from(sorted(ALLOWED[PacketType.UNSUBACK])), min_size=1, max_size=3).map(tuple)
        if five
        else st.just(())
    )
    names = st.lists(filters, min_size=1, max_size=3).map(tuple)
    kinds: list[st.SearchStrategy[Packet]] = [
        connect,
        connack,
        publish_0,
        publish,
        outcome(packets.Puback, 4),
        outcome(packets.Pubrec, 5),
        outcome(packets.Pubrel, 6),
        outcome(packets.Pubcomp, 7),
        st.builds(packets.Subscribe, packet_ids, requests, properties(PacketType.SUBSCRIBE)),
        st.builds(packets.Suback, packet_ids, some, properties(PacketType.SUBACK)),
        st.builds(packets.Unsubscribe, packet_ids, names, properties(PacketType.UNSUBSCRIBE)),
        st.builds(packets.Unsuback, packet_ids, unsuback_reasons, properties(PacketType.UNSUBACK)),
        st.just(packets.Pingreq()),
        st.just(packets.Pingresp()),
    ]
    if not five:
        return st.one_of([*kinds, st.just(packets.Disconnect())])
    reasons = st.sampled_from(sorted(ALLOWED[PacketType.DISCONNECT]))
    kinds.append(st.builds(packets.Disconnect, reasons, properties(PacketType.DISCONNECT)))
    auth_reasons = st.sampled_from(sorted(ALLOWED[PacketType.AUTH]))
    kinds.append(st.builds(packets.Auth, auth_reasons, properties(PacketType.AUTH)))
    return st.one_of(kinds)


VERSIONS = (V3_1_1, V5_0)
