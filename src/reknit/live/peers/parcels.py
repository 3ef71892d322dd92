"""How a word between peers travels: as one datagram, as a few fragments, or on a stream.

No datagram is longer than what every path of the Internet carries without cutting it up. A word that does not fit goes
in fragments, up to a few: the loss of any of them loses the word, so more than a few would hardly ever arrive. What is
longer still takes a stream.

Peers that share a secret *seal* each parcel with it; what comes without a right seal is from a stranger, and not looked
at any further. A seal says that the sender knows the secret, not which peer it is.

Owns: the bytes around a word, and words of which not all has come yet. Must not know: sockets, or what a word means.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

__all__ = [
    "DATAGRAM_BYTES_MAX",
    "FRAGMENTS_MAX",
    "WORD_BYTES_MAX",
    "Assembler",
    "BadParcel",
    "Fragment",
    "Seal",
    "Stranger",
    "cut",
    "read_datagram",
    "read_streamed",
    "streamed",
]

DATAGRAM_BYTES_MAX = 1200
"""Without the headers of UDP and IP: what QUIC, too, takes for safe on any path."""

FRAGMENTS_MAX = 8
"""A word of more goes on a stream."""

WORD_BYTES_MAX = 4 * 1024 * 1024
"""No word is longer, on a stream either."""

ASSEMBLIES_MAX = 256
"""Words of which not all fragments have come, over all senders; the oldest makes room."""

ASSEMBLIES_PER_SENDER_MAX = 32
ASSEMBLY_S_MAX = 3.0

SEAL_BYTES = 16
_WHOLE, _FRAGMENT, _STREAMED = 0, 1, 2
_NUMBER_BYTES = 8
_PORT_BYTES = 2
_FRAGMENT_HEAD_BYTES = 1 + _NUMBER_BYTES + 2


class BadParcel(ValueError):
    """The sender's fault: bytes that are no parcel."""


class Stranger(BadParcel):
    """Bytes without a right seal."""


class Seal:
    """Of a secret; none where that is empty."""

    __slots__ = ("_secret", "bytes")

    def __init__(self, secret: bytes = b"") -> None:
        self._secret = hashlib.blake2b(secret).digest() if secret else b""
        self.bytes = SEAL_BYTES if secret else 0

    def put(self, parcel: bytes) -> bytes:
        return self._of(parcel) + parcel if self._secret else parcel

    def take(self, data: bytes) -> bytes:
        """What is under the seal; ``Stranger`` if that is not ours."""
        if not self._secret:
            return data
        parcel = data[SEAL_BYTES:]
        if not hmac.compare_digest(self._of(parcel), data[:SEAL_BYTES]):
            raise Stranger("no right seal")
        return parcel

    def _of(self, parcel: bytes) -> bytes:
        return hashlib.blake2b(parcel, key=self._secret, digest_size=SEAL_BYTES).digest()


@dataclass(frozen=True, slots=True)
class Fragment:
    """``number``: of the word, among those of its sender."""

    number: int
    place: int
    of: int
    data: bytes


def cut(word: bytes, number: int, seal: Seal) -> list[bytes]:
    """The datagrams of a word; none if it has to go on a stream."""
    if len(word) + 1 + seal.bytes <= DATAGRAM_BYTES_MAX:
        return [seal.put(bytes((_WHOLE,)) + word)]
    room = DATAGRAM_BYTES_MAX - seal.bytes - _FRAGMENT_HEAD_BYTES
    of = -(-len(word) // room)
    if of > FRAGMENTS_MAX:
        return []
    head = bytes((_FRAGMENT,)) + number.to_bytes(_NUMBER_BYTES, "big")
    return [
        seal.put(head + bytes((place, of)) + word[place * room : (place + 1) * room]) for place in range(of)
    ]  # fmt: skip


def read_datagram(data: bytes, seal: Seal) -> bytes | Fragment:
    """A whole word, or a part of one. ``BadParcel`` if it is neither."""
    if len(data) > DATAGRAM_BYTES_MAX:
        raise BadParcel(f"a datagram of {len(data)} bytes")
    parcel = seal.take(data)
    if parcel[:1] == bytes((_WHOLE,)):
        return parcel[1:]
    if parcel[:1] != bytes((_FRAGMENT,)) or len(parcel) <= _FRAGMENT_HEAD_BYTES:
        raise BadParcel("neither a word nor a fragment")
    number = int.from_bytes(parcel[1 : 1 + _NUMBER_BYTES], "big")
    place, of = parcel[_FRAGMENT_HEAD_BYTES - 2 : _FRAGMENT_HEAD_BYTES]
    if not 2 <= of <= FRAGMENTS_MAX or place >= of:
        raise BadParcel(f"fragment {place} of {of}")
    return Fragment(number, place, of, parcel[_FRAGMENT_HEAD_BYTES:])


def streamed(word: bytes, port: int, seal: Seal) -> bytes:
    """A word on a stream, whose sender takes datagrams at ``port``: that of the connection is another one."""
    return seal.put(bytes((_STREAMED,)) + port.to_bytes(_PORT_BYTES, "big") + word)


def read_streamed(data: bytes, seal: Seal) -> tuple[int, bytes]:
    """The sender's port, and the word."""
    parcel = seal.take(data)
    port = int.from_bytes(parcel[1 : 1 + _PORT_BYTES], "big")
    if parcel[:1] != bytes((_STREAMED,)) or not port:
        raise BadParcel("no word of a stream")
    return port, parcel[1 + _PORT_BYTES :]


@dataclass(slots=True)
class _Assembly:
    of: int
    until: float
    parts: dict[int, bytes] = field(default_factory=dict)


class Assembler:
    """Words in the making. ``given_up``: how many of them have never been whole."""

    __slots__ = ("_open", "given_up")

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], _Assembly] = {}  # the oldest first
        self.given_up = 0

    def __len__(self) -> int:
        return len(self._open)

    def add(self, sender: str, fragment: Fragment, now: float) -> bytes | None:
        """The word, if this was all that it lacked."""
        key = (sender, fragment.number)
        assembly = self._open.get(key)
        if assembly is None:
            self._make_room(sender, now)
            assembly = self._open[key] = _Assembly(fragment.of, now + ASSEMBLY_S_MAX)
        if assembly.of != fragment.of:
            return None
        assembly.parts[fragment.place] = fragment.data
        if len(assembly.parts) < assembly.of:
            return None
        del self._open[key]
        return b"".join(assembly.parts[place] for place in range(assembly.of))

    def _make_room(self, sender: str, now: float) -> None:
        stale = [key for key, each in self._open.items() if each.until <= now]
        own = [key for key in self._open if key[0] == sender and key not in stale]
        if len(own) >= ASSEMBLIES_PER_SENDER_MAX:
            stale.append(own[0])
        elif len(self._open) - len(stale) >= ASSEMBLIES_MAX:
            stale.append(next(key for key in self._open if key not in stale))
        for key in stale:
            del self._open[key]
        self.given_up += len(stale)
