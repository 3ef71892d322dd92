"""The field types of MQTT: integers of one, two and four bytes, variable byte integers, texts, binary data.

Owns: how one field becomes bytes and back, and the errors of a single field. Must not know: packets. Reading raises
``ProtocolError``, since the bytes come from outside; writing raises ``ValueError``, since the values come from us.
"""

from __future__ import annotations

from reknit.mqtt.reasons import ProtocolError, Reason

__all__ = ["FIELD_BYTES_MAX", "VARIABLE_MAX", "Reader", "binary_wire", "text_wire", "variable_wire"]

FIELD_BYTES_MAX = 65_535
VARIABLE_MAX = 268_435_455
"""The largest number that four bytes of seven bits hold."""


def _malformed(why: str) -> ProtocolError:
    return ProtocolError(Reason.MALFORMED_PACKET, why)


class Reader:
    """Reads fields from ``data``, never beyond ``end``."""

    __slots__ = ("data", "end", "pos")

    def __init__(self, data: bytes, pos: int, end: int) -> None:
        self.data = data
        self.pos = pos
        self.end = end

    def _take(self, count: int) -> int:
        """Step over ``count`` bytes; where they began."""
        pos = self.pos
        if pos + count > self.end:
            raise _malformed("the packet ends within a field")
        self.pos = pos + count
        return pos

    def byte(self) -> int:
        return self.data[self._take(1)]

    def two(self) -> int:
        pos = self._take(2)
        return self.data[pos] << 8 | self.data[pos + 1]

    def four(self) -> int:
        pos = self._take(4)
        return int.from_bytes(self.data[pos : pos + 4], "big")

    def variable(self) -> int:
        """A variable byte integer, in no more bytes than it needs."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 21:
                raise _malformed("a variable byte integer has more than four bytes")
        if shift and not byte:
            raise _malformed("a variable byte integer has more bytes than it needs")
        return value

    def binary(self) -> bytes:
        size = self.two()
        pos = self._take(size)
        return self.data[pos : pos + size]

    def text(self) -> str:
        try:
            text = self.binary().decode()
        except UnicodeDecodeError:
            raise _malformed("a text is not valid UTF-8") from None
        if "\0" in text:
            raise _malformed("a text holds the character U+0000")
        return text

    def packet_id(self) -> int:
        ident = self.two()
        if not ident:
            raise ProtocolError(Reason.PROTOCOL_ERROR, "a packet identifier cannot be 0")
        return ident

    def rest(self) -> bytes:
        """All bytes that are left."""
        pos, self.pos = self.pos, self.end
        return self.data[pos : self.end]


def variable_wire(value: int) -> bytes:
    if 0 <= value < 0x80:
        return bytes((value,))
    if not 0 <= value <= VARIABLE_MAX:
        raise ValueError(f"{value} does not fit into a variable byte integer")
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def binary_wire(data: bytes) -> bytes:
    if len(data) > FIELD_BYTES_MAX:
        raise ValueError(f"a field of {len(data)} bytes; the largest has {FIELD_BYTES_MAX}")
    return len(data).to_bytes(2, "big") + data


def text_wire(text: str) -> bytes:
    if "\0" in text:
        raise ValueError("a text holds the character U+0000")
    return binary_wire(text.encode())
