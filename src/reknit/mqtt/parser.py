"""From a stream of bytes to packets.

A stream comes in slices that mean nothing: a slice may hold a hundred packets, or the second byte of one. The parser
gives the same packets, and the same error at the same point, however the stream was sliced. What it holds back is
never more than one unfinished packet, and the size of that is checked as soon as its fixed header has come: the body
of a packet that is too large is never awaited.

A server's parser starts with no version. The first packet must then be a CONNECT, under a smaller limit of its own,
and settles the version of all that follows.

PUBLISH at QoS 0 and 1 without properties is nearly all of a busy stream, so it is decoded within the loop; every other
packet, and every PUBLISH that is not plain, goes through ``decode``, which alone knows the faults.

Owns: framing. Must not know: sessions.
"""

from __future__ import annotations

from collections.abc import Iterator

from reknit.mqtt.decode import decode, decode_level
from reknit.mqtt.packets import V5_0, Packet, PacketType, Publish
from reknit.mqtt.reasons import ProtocolError, Reason

__all__ = ["FIRST_PACKET_BYTES_MAX", "PACKET_BYTES_MAX", "TOPICS_CACHED_MAX", "Parser"]

FIRST_PACKET_BYTES_MAX = 64 * 1024
PACKET_BYTES_MAX = 1024 * 1024
TOPICS_CACHED_MAX = 4096
_TOPIC_CACHED_BYTES_MAX = 256


class Parser:
    """One direction of one connection. ``version`` is 0 until a CONNECT has settled it, unless it is given."""

    __slots__ = ("_first_bytes_max", "_needed", "_packet_bytes_max", "_topics", "_waiting", "version")

    def __init__(
        self,
        packet_bytes_max: int = PACKET_BYTES_MAX,
        *,
        first_packet_bytes_max: int = FIRST_PACKET_BYTES_MAX,
        version: int = 0,
        topics: dict[bytes, str] | None = None,
    ) -> None:
        self.version = version
        self._packet_bytes_max = packet_bytes_max
        self._first_bytes_max = first_packet_bytes_max
        self._topics: dict[bytes, str] = {} if topics is None else topics  # may be shared: good topics, by their bytes
        self._waiting = bytearray()  # the beginning of a packet
        self._needed = 0  # how long `waiting` must get before another look can help

    def feed(self, data: bytes) -> Iterator[Packet]:
        """The packets that ``data`` completes; ``ProtocolError`` after the last good one. To be iterated to its end."""
        if self._waiting:
            self._waiting += data
            if len(self._waiting) < self._needed:
                return
            data = bytes(self._waiting)
            self._waiting.clear()
        topics = self._topics
        version = self.version
        limit = self._packet_bytes_max if version else self._first_bytes_max
        pos, end = 0, len(data)
        while end - pos >= 2:
            first = data[pos]
            size = data[pos + 1]
            body = pos + 2
            if not version:
                _check_first(first)
            if size >= 0x80:
                size, body = _long_size(data, pos + 1, version)
                if not body:
                    break
            stop = body + size
            if stop - pos > limit:
                raise ProtocolError(Reason.PACKET_TOO_LARGE, f"a packet of {stop - pos} bytes; the limit is {limit}")
            if stop > end:
                self._hold(data[pos:], stop - pos)
                return
            if (first == 0x30 or first == 0x32) and version and size > 4:
                cut = body + 2 + (data[body] << 8 | data[body + 1])
                topic = topics.get(data[body + 2 : cut])
                if topic is not None:
                    ident = 0
                    if first == 0x32 and cut + 2 <= stop:
                        ident = data[cut] << 8 | data[cut + 1]
                        cut += 2
                    # An empty set of properties is one zero byte.
                    if version == V5_0:
                        plain = cut < stop and not data[cut]
                        cut += 1
                    else:
                        plain = cut <= stop
                    if plain and (ident or first == 0x30):
                        yield Publish(topic, data[cut:stop], first >> 1 & 1, ident)
                        pos = stop
                        continue
            if not version:
                version = self.version = decode_level(data[body:stop])
                limit = self._packet_bytes_max
            packet = decode(first, data[body:stop], version)
            if type(packet) is Publish:
                self._learn(packet.topic)
            yield packet
            pos = stop
        if pos < end:
            if not version:
                _check_first(data[pos])
            self._hold(data[pos:], end - pos + 1)

    def ends(self, data: bytes) -> bool:
        """Whether the client ends its connection in ``data``, which is to be fed later: a DISCONNECT, or a fault."""
        data = bytes(self._waiting) + data
        pos = 0
        while len(data) - pos >= 2:
            if data[pos] >> 4 == PacketType.DISCONNECT:
                return True
            try:
                size, body = _long_size(data, pos + 1, self.version)
            except ProtocolError:
                return True
            if not body:
                return False
            pos = body + size
        return False

    def lone(self, data: bytes) -> tuple[str, bytes] | None:
        """Topic and payload, if ``data`` is one plain PUBLISH at QoS 0 and nothing else; ``None`` for ``feed`` to see.

        A client that sends one message at a time is read one packet at a time, and what it waits for is this.
        """
        end = len(data)
        if not 8 <= end <= self._packet_bytes_max or data[0] != 0x30 or self._waiting or not self.version:
            return None
        size, body = data[1], 2
        if size >= 0x80:
            size, body = (size & 0x7F) | data[2] << 7, 3
            if not 0 < data[2] < 0x80:
                return None
        cut = body + 2 + (data[body] << 8 | data[body + 1])
        topic = self._topics.get(data[body + 2 : cut])
        if topic is None or body + size != end or cut > end:
            return None
        if self.version == V5_0:
            if cut == end or data[cut]:
                return None
            cut += 1
        return topic, data[cut:]

    def _hold(self, data: bytes, needed: int) -> None:
        self._waiting += data
        self._needed = needed

    def _learn(self, topic: str) -> None:
        """Remember a topic that ``decode`` found good."""
        topics = self._topics
        if topic and len(raw := topic.encode()) <= _TOPIC_CACHED_BYTES_MAX:
            if len(topics) >= TOPICS_CACHED_MAX:
                topics.clear()
            topics[raw] = topic


def _check_first(first: int) -> None:
    if first >> 4 != PacketType.CONNECT:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "the first packet is no CONNECT")
    if first & 15:
        raise ProtocolError(Reason.MALFORMED_PACKET, f"CONNECT with reserved flags {first & 15:04b}")


def _long_size(data: bytes, pos: int, version: int) -> tuple[int, int]:
    """The remaining length that begins at ``pos``, and where the body begins: 0 while the length is not complete."""
    size = shift = 0
    while pos < len(data):
        byte = data[pos]
        pos += 1
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            # 3.1.1 does not forbid padding, and small devices are known to pad.
            if not byte and version == V5_0:
                raise ProtocolError(Reason.MALFORMED_PACKET, "a remaining length with more bytes than it needs")
            return size, pos
        shift += 7
        if shift > 21:
            raise ProtocolError(Reason.MALFORMED_PACKET, "a remaining length of more than four bytes")
    return 0, 0
