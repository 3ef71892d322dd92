"""Whether a broker could run with what it was told: all that can be known before it binds a port.

A broker asks this before it begins, and so does whoever looks at a configuration, so that both say the same. Nothing
is changed by asking, not even a file that is to be made.

Owns: what has to hold of settings and addresses together. Must not know: how a broker is run, or where settings come
from.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from reknit.live.address import Address
from reknit.live.communities import check_communities
from reknit.live.config import Settings, door_options
from reknit.live.errors import ConfigError
from reknit.live.guard import Guard, is_loopback
from reknit.live.tls import TlsSection, link_tls, server_context
from reknit.live.warden import check_operators

__all__ = ["IN_TLS", "check_directory", "check_fit", "check_ring"]

IN_TLS = ("mqtts", "wss")


def check_fit(name: str, settings: Settings, places: Mapping[str, Address]) -> Guard:
    """``ConfigError`` says why a broker with these addresses, by what is spoken there, could not begin.

    The guard has read the files of passwords and rules; whoever does not go on with it closes it.
    """
    door_options(settings.mqtt)
    _check_links(name, settings.tls, places)
    _check_datagrams(name, settings)
    check_ring(settings)
    if any(key in IN_TLS for key in places):
        server_context(settings.tls, name)
    link_tls(settings.tls, name)
    if settings.store.path:
        _check_store(Path(settings.store.path).absolute())
    if settings.trace.directory:
        check_directory(Path(settings.trace.directory).absolute(), "trace")
    check_communities(settings.communities)
    guard = Guard(settings.access)
    if "admin" in places:
        check_operators(places["admin"], guard, f"broker {name}")
    return guard


def _check_links(name: str, tls: TlsSection, places: Mapping[str, Address]) -> None:
    """Whoever reaches the brokers' port can be a broker there, unless certificates say who is one."""
    for key in ("listen", "relay"):
        address = places.get(key)
        if address is not None and not (tls.link_authorities or tls.plain_links or is_loopback(address.host)):
            raise ConfigError(
                f"broker {name}: {key} {address}: brokers would be reached without TLS from other machines; "
                "set link_authorities under [tls], or plain_links = true where that network is nobody else's"
            )


def check_ring(settings: Settings, brokers: int = 1) -> None:
    """What brokers on a ring cannot have; ``brokers``: so many are told the same."""
    if settings.options.routing != "rendezvous":
        return
    if settings.store.path:
        raise ConfigError(
            f"store: {settings.store.path}: a broker that routes by rendezvous has no store, as its next life could "
            "tell no copies; leave out [store], or choose another routing"
        )
    if settings.options.ring.id is not None and brokers > 1:
        raise ConfigError(
            f"options.ring.id: {brokers} brokers would be at one place of the ring; leave it out, and their names say "
            "where they are, or set it in a file of each broker's own"
        )


def _check_datagrams(name: str, settings: Settings) -> None:
    options = settings.options
    if not (options.recovery.names or options.links.may_lose):
        return
    if settings.tls.link_authorities:
        raise ConfigError(f"broker {name}: datagrams are not in TLS; with link_authorities there is no recovery")
    if options.links.may_lose and not options.links.datagrams:
        what = "options.links.loose" if options.links.loose else "a link of datagrams"
        raise ConfigError(f"broker {name}: {what} needs options.links.retransmit_s for all but events")


def _check_store(path: Path) -> None:
    if not path.parent.is_dir():
        raise ConfigError(f"store: {path}: there is no directory {path.parent}; make it, or set path under [store]")
    if path.is_dir():
        raise ConfigError(f"store: {path}: this is a directory; a broker's store is a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f"store: {path}: cannot be written to by this user")


def check_directory(path: Path, what: str) -> None:
    """A directory that is made where it is not there yet."""
    there = path
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise ConfigError(f"{what}: {path}: {there} is no directory that can be written to")
