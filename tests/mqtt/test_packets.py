from __future__ import annotations

from typing import get_args

import pytest

from reknit.mqtt import packets


def test_there_is_a_shape_for_each_type() -> None:
    assert {shape.__name__.upper() for shape in get_args(packets.Packet)} == {kind.name for kind in packets.PacketType}


def test_packets_are_values() -> None:
    packet = packets.Publish("t", b"x")
    assert packet == packets.Publish("t", b"x")
    assert hash(packet) == hash(packets.Publish("t", b"x"))
    with pytest.raises(AttributeError):
        packet.topic = "u"  # type: ignore[misc]
