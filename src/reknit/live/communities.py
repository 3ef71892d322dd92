"""``[communities]``: of which communities a broker is a member, and the peer by which it is one.

Owns: the section, what has to hold of it, and the peer that follows from it. Must not know: brokers, or what crosses.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from reknit.community.hierarchy import Hierarchy
from reknit.community.memberships.names import membership_of
from reknit.community.options import CourierOptions, PeerOptions, TopicOptions, check_options
from reknit.live.address import parse_address
from reknit.live.errors import ConfigError
from reknit.live.peers.member import LivePeer, peer
from reknit.wire.peers import check_community

__all__ = ["CommunitiesSection", "check_communities", "make_peer"]

PENDING_S = 1.0
"""How long a topic's first event waits for somebody of its community to be found."""
PENDING_MAX = 10_000


class CommunitiesSection(Struct, forbid_unknown_fields=True, frozen=True):
    """``[communities]``: of which this broker is a member; of none if there are no topics."""

    topics: tuple[str, ...] = ()
    listen: str = "127.0.0.1:0"
    known_as: str = ""
    """Where peers reach it, if not at ``listen``."""
    contacts: tuple[str, ...] = ()
    secret_file: str = ""
    membership: str = "scamp"
    c: float = 5.0
    g: float = 5.0
    a: float = 1.0
    z: int = 3
    """The paper's letters, for all topics; see ``TopicOptions``."""
    parents: Mapping[str, tuple[str, ...]] = {}
    """By topic, its parents where they are others than the topic one level up; the peers' own."""
    brokers: str = "brokers"
    """The name of this network of brokers; another one that peers join to it has another name."""
    peers: str = "peers"


def check_communities(section: CommunitiesSection) -> None:
    """``ConfigError`` if a broker could not be a member as it says."""
    if not section.topics:
        return
    try:
        for topic in section.topics:
            check_community(topic)
        membership_of(section.membership)
        Hierarchy(section.parents)
        check_options(_options_of(section))
    except ValueError as error:
        raise ConfigError(f"communities: {error}") from None
    for side in (section.brokers, section.peers):
        if not side or " " in side:
            raise ConfigError(f"communities: {side!r} is no name of a side: one word")
    if section.brokers == section.peers:
        raise ConfigError("communities: both sides have the same name")
    for contact in section.contacts:
        parse_address(contact, "communities: contacts")
    make_peer(section)


def _options_of(section: CommunitiesSection) -> PeerOptions:
    topic = TopicOptions(
        c=section.c,
        g=section.g,
        a=section.a,
        z=section.z,
        membership=section.membership,
        publisher_forces_upward=True,
    )
    return PeerOptions(
        topic=topic,
        parents=section.parents,
        courier=CourierOptions(backoff=2.0),
        pending_s_max=PENDING_S,
        pending_max=PENDING_MAX,
    )


def make_peer(section: CommunitiesSection) -> LivePeer:
    options = _options_of(section)
    try:
        secret = Path(section.secret_file).read_bytes().strip() if section.secret_file else b""
    except OSError as error:
        raise ConfigError(f"communities: {section.secret_file}: {error.strerror}") from None
    return peer(section.listen, contacts=section.contacts, secret=secret, options=options, known_as=section.known_as)
