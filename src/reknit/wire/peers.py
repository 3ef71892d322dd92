"""What peers say to each other, and its bytes.

A datagram is one message: a byte for the version, then MessagePack. Peers have no connection that could have been
greeted or checked, so each message stands for itself, and whatever it holds is bounded here: bytes from outside either
decode to a message within these bounds, or raise ``BadFrame``.

Owns: the vocabulary between peers, its encoding and its bounds. Must not know: sockets, or what a message makes a peer
do.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from reknit.model.event import Event
from reknit.model.topic import TOPIC_LEVELS_MAX, check_topic
from reknit.wire._grid import (
    BITS_MAX,
    ENTRIES_MAX,
    REFERENCES_MAX,
    Copies,
    Exchange,
    Exchanged,
    Found,
    GridWord,
    Seek,
    Withdraw,
    fault_of,
    named_in,
)
from reknit.wire.codec import NAME_CHARS_MAX, BadFrame, check_event

__all__ = [
    "BITS_MAX",
    "DATAGRAM_BYTES_MAX",
    "ENTRIES_MAX",
    "EPOCH_MAX",
    "HOPS_MAX",
    "LEASE_S_MAX",
    "MINIMA",
    "PEERS_MAX",
    "REFERENCES_MAX",
    "ROOT",
    "VERSION",
    "Ack",
    "Answer",
    "Contact",
    "Copies",
    "Exchange",
    "Exchanged",
    "Forward",
    "Found",
    "Gossip",
    "GridWord",
    "Heartbeat",
    "Kept",
    "More",
    "Ping",
    "Pong",
    "Remove",
    "Replace",
    "Request",
    "Seek",
    "Some",
    "Subscribe",
    "Sure",
    "Withdraw",
    "Word",
    "check_community",
    "decode_word",
    "encode_word",
]

VERSION = 1

DATAGRAM_BYTES_MAX = 16 * 1024 * 1024
"""No message is longer, however it was carried: as much as a frame between brokers."""

PEERS_MAX = 64
"""Peers that one message names."""

HOPS_MAX = 255
"""How far anything is passed on."""

LEASE_S_MAX = 7 * 86_400.0
"""For how long anybody may ask to be remembered."""

MINIMA = 32
"""Numbers in a sketch of the size of a community (see ``community.census``)."""

MINIMUM_BYTES = 4
EPOCH_MAX = 2**53

ROOT = "#"
"""The community of all topics, which has no parent."""

Contact: TypeAlias = tuple[str, str]
"""A community, and the address of a member."""


class Gossip(msgspec.Struct, array_like=True, tag=0, frozen=True, gc=False):
    """An event on its way through ``community``, ``hops`` from its publisher. ``way``: communities it rose from."""

    community: str
    hops: int
    way: tuple[str, ...]
    event: Event


# --- finding each other


class Request(msgspec.Struct, array_like=True, tag=1, frozen=True, gc=False):
    """``origin`` looks for members of one of ``topics``. ``attempt``: a number of its own. REQCONTACT in the paper."""

    origin: str
    attempt: int
    topics: tuple[str, ...]
    hops_left: int


class Answer(msgspec.Struct, array_like=True, tag=2, frozen=True, gc=False):
    """Members of ``topic``, for who asked for them. ANCONTACT in the paper."""

    attempt: int
    topic: str
    peers: tuple[str, ...]


class Ping(msgspec.Struct, array_like=True, tag=3, frozen=True, gc=False):
    number: int
    topic: str


class Pong(msgspec.Struct, array_like=True, tag=4, frozen=True, gc=False):
    number: int
    topic: str
    member: bool


class More(msgspec.Struct, array_like=True, tag=5, frozen=True, gc=False):
    """A request for ``count`` further members of ``topic``. NEWPROCESS in the paper, as its request."""

    number: int
    topic: str
    count: int


class Some(msgspec.Struct, array_like=True, tag=6, frozen=True, gc=False):
    """The answer to ``More``. NEWPROCESS in the paper, as its reply."""

    number: int
    topic: str
    peers: tuple[str, ...]


# --- for words that must not get lost


class Sure(msgspec.Struct, array_like=True, tag=7, frozen=True, gc=False):
    """Another word, which the sender repeats until it hears ``Ack`` with the same number."""

    number: int
    frame: bytes


class Ack(msgspec.Struct, array_like=True, tag=8, frozen=True, gc=False):
    number: int


# --- SCAMP


class Subscribe(msgspec.Struct, array_like=True, tag=10, frozen=True, gc=False):
    """``subscriber`` asks to be in views. ``walk``: hops until somebody acts on it.

    ``renewal``: it is in some already.
    """

    topic: str
    subscriber: str
    walk: int
    lease_s: float
    renewal: bool


class Forward(msgspec.Struct, array_like=True, tag=11, frozen=True, gc=False):
    """One copy of a subscription, until somebody keeps it."""

    topic: str
    subscriber: str
    hops_left: int
    lease_s: float


class Kept(msgspec.Struct, array_like=True, tag=12, frozen=True, gc=False):
    """The sender has the receiver in its view, for so long."""

    topic: str
    lease_s: float


class Replace(msgspec.Struct, array_like=True, tag=13, frozen=True, gc=False):
    """The sender leaves; ``by`` may take its place in the receiver's view."""

    topic: str
    by: str
    lease_s: float


class Remove(msgspec.Struct, array_like=True, tag=14, frozen=True, gc=False):
    """The sender is no member of ``topic``, or not any more."""

    topic: str


class Heartbeat(msgspec.Struct, array_like=True, tag=15, frozen=True, gc=False):
    """To everybody in a view: you are in mine. With what the community has to tell its members beside events."""

    topic: str
    epoch: int
    minima: bytes
    supers: tuple[Contact, ...]


Word: TypeAlias = (
    Gossip
    | Request
    | Answer
    | Ping
    | Pong
    | More
    | Some
    | Sure
    | Ack
    | Subscribe
    | Forward
    | Kept
    | Replace
    | Remove
    | Heartbeat
    | Exchange
    | Exchanged
    | Seek
    | Found
    | Copies
    | Withdraw
)

_VERSION_BYTE = bytes((VERSION,))
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Word] = msgspec.msgpack.Decoder(Word)


def encode_word(word: Word) -> bytes:
    return _VERSION_BYTE + _encoder.encode(word)


def decode_word(data: bytes) -> Word:
    """``BadFrame`` if it is none. Copies of an event have the same bytes: those of the last few are not read again."""
    if (known := _recent.get(data)) is not None:
        return known
    if len(data) > DATAGRAM_BYTES_MAX:
        raise BadFrame(f"a message of {len(data)} bytes, over the {DATAGRAM_BYTES_MAX} that are allowed")
    if data[:1] != _VERSION_BYTE:
        raise BadFrame(f"a message of version {data[0] if data else 'none'}, not {VERSION}")
    try:
        word = _decoder.decode(memoryview(data)[1:])
        if type(word) not in _UNBOUNDED:
            _check(word)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadFrame(str(error)) from None
    if type(word) is Gossip and len(data) <= _RECENT_BYTES_MAX:
        if len(_recent) >= _RECENT_MAX:
            del _recent[next(iter(_recent))]
        _recent[data] = word
    return word


def check_community(topic: str) -> None:
    """Raise ``BadTopic`` unless there can be a community of this name."""
    if topic not in _good_communities:
        if topic != ROOT:
            check_topic(topic)
        if len(_good_communities) >= _GOOD_COMMUNITIES_MAX:
            _good_communities.clear()
        _good_communities.add(topic)


_UNBOUNDED = (Ack, Sure)
"""Nothing in them has a bound of its own, and they are half of all that is said."""


def _check(word: Word) -> None:
    match word:
        case Gossip(community=community, hops=hops, way=way, event=event):
            check_community(community)
            _check_communities(way)
            _check_count("hops", hops)
            check_event(event)
        case Request(origin=origin, topics=topics, hops_left=hops_left):
            _check_peer(origin)
            if not topics:
                raise BadFrame("a request for members of nothing")
            _check_communities(topics)
            _check_count("hops", hops_left)
        case Answer(topic=topic, peers=peers) | Some(topic=topic, peers=peers):
            check_community(topic)
            _check_peers(peers)
        case Ping(topic=topic) | Pong(topic=topic) | Remove(topic=topic):
            check_community(topic)
        case More(topic=topic, count=count):
            check_community(topic)
            if not 0 < count <= PEERS_MAX:
                raise BadFrame(f"a request for {count} peers")
        case Exchange() | Exchanged() | Seek() | Found() | Copies() | Withdraw():
            _check_grid(word)
        case _:
            _check_membership(word)


def _check_membership(word: Word) -> None:
    match word:
        case Subscribe(topic=topic, subscriber=peer, walk=hops, lease_s=lease_s):
            _check_subscription(topic, peer, hops, lease_s)
        case Forward(topic=topic, subscriber=peer, hops_left=hops, lease_s=lease_s):
            _check_subscription(topic, peer, hops, lease_s)
        case Replace(topic=topic, by=peer, lease_s=lease_s):
            _check_subscription(topic, peer, 0, lease_s)
        case Kept(topic=topic, lease_s=lease_s):
            check_community(topic)
            _check_lease(lease_s)
        case Heartbeat(topic=topic, epoch=epoch, minima=minima, supers=supers):
            check_community(topic)
            if not 0 <= epoch <= EPOCH_MAX:
                raise BadFrame(f"the epoch {epoch}")
            if len(minima) not in (0, MINIMA * MINIMUM_BYTES):
                raise BadFrame(f"a sketch of {len(minima)} bytes")
            for community, _ in supers:
                check_community(community)
            _check_peers(tuple(address for _, address in supers))


def _check_grid(word: GridWord) -> None:
    if fault := fault_of(word):
        raise BadFrame(fault)
    for peer in named_in(word):
        _check_peer(peer)
    match word:
        case Exchange(peers=peers, depth=count) | Exchanged(peers=peers, depth=count):
            _check_count("meetings", count)
            _check_peers(peers)
        case Seek(topic=topic, hops_left=count, lease_s=lease_s):
            check_community(topic)
            _check_count("hops", count)
            if lease_s:
                _check_lease(lease_s)
        case Copies(topic=topic, hops_left=count, entries=entries):
            check_community(topic)
            _check_count("hops", count)
            for _, lease_s in entries:
                _check_lease(lease_s)
        case Found(topic=topic, peers=peers):
            check_community(topic)
            _check_peers(peers)
        case Withdraw(topic=topic):
            check_community(topic)


def _check_subscription(topic: str, peer: str, hops: int, lease_s: float) -> None:
    check_community(topic)
    _check_peer(peer)
    _check_count("hops", hops)
    _check_lease(lease_s)


def _check_lease(lease_s: float) -> None:
    if not 0.0 < lease_s <= LEASE_S_MAX:
        raise BadFrame(f"a lease of {lease_s} seconds")


def _check_count(what: str, number: int) -> None:
    if not 0 <= number <= HOPS_MAX:
        raise BadFrame(f"{number} {what}")


def _check_communities(topics: tuple[str, ...]) -> None:
    if len(topics) > TOPIC_LEVELS_MAX + 1:
        raise BadFrame(f"{len(topics)} communities at once")
    for topic in topics:
        check_community(topic)


def _check_peers(peers: tuple[str, ...]) -> None:
    if len(peers) > PEERS_MAX:
        raise BadFrame(f"{len(peers)} peers at once, over the {PEERS_MAX} that are allowed")
    for peer in peers:
        _check_peer(peer)


def _check_peer(address: str) -> None:
    if not 0 < len(address) <= NAME_CHARS_MAX:
        raise BadFrame(f"a peer's address of {len(address)} characters")


_RECENT_MAX = 256
_RECENT_BYTES_MAX = 4096
_recent: dict[bytes, Gossip] = {}
"""The last few events that were read, by their bytes."""

_GOOD_COMMUNITIES_MAX = 16_384
_good_communities: set[str] = set()
"""Names seen to be well formed: messages repeat them."""
