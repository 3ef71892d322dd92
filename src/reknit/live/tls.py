"""TLS: at the clients' door, and between brokers.

Owns: the certificate of the broker, and whom that of the other end names. Must not know: what is said inside.

Between brokers both ends have a certificate, and it is bound to the broker's name, not to its host: whoever holds the
certificate of ``b2`` can be ``b2`` wherever it runs, and nobody else. So an address that somebody has taken over, or a
broker that was broken into, gives nobody another broker's place in the tree.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

import msgspec

from reknit.live.errors import ConfigError

__all__ = ["LinkTls", "TlsSection", "certified_names", "certified_user", "link_tls", "server_context"]


class TlsSection(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``[tls]``: for the addresses that speak it. ``{name}`` in a path stands for the broker's name."""

    certificate: str = ""
    """The broker's certificate, in PEM, with those between it and its authority."""
    key: str = ""
    """The key for it; empty if it stands in the same file."""
    client_authorities: str = ""
    """Whoever comes must have a certificate of one of these, and its common name is the user's name."""
    link_authorities: str = ""
    """Brokers speak TLS to each other; each must have a certificate of one of these that names it."""
    plain_links: bool = False
    """Whether brokers may be reached without TLS from other machines, too: their network is nobody else's."""


@dataclass(frozen=True, slots=True)
class LinkTls:
    server: ssl.SSLContext
    client: ssl.SSLContext


def server_context(section: TlsSection, name: str) -> ssl.SSLContext:
    """For clients. ``ConfigError`` if a file is missing or does not fit."""
    return _context(section, name, ssl.PROTOCOL_TLS_SERVER, section.client_authorities)


def link_tls(section: TlsSection, name: str) -> LinkTls | None:
    """For links, if they are to be in TLS. ``ConfigError`` if a file is missing or does not fit."""
    if not section.link_authorities:
        return None
    server = _context(section, name, ssl.PROTOCOL_TLS_SERVER, section.link_authorities)
    client = _context(section, name, ssl.PROTOCOL_TLS_CLIENT, section.link_authorities)
    return LinkTls(server, client)


def _context(section: TlsSection, name: str, protocol: int, authorities: str) -> ssl.SSLContext:
    """TLS 1.2 or newer; with authorities, the other end must have a certificate of one of them."""
    if not section.certificate:
        raise ConfigError("tls: `certificate` is needed where an address or a link speaks TLS")
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False  # a broker is known by its own name
    certificate, key = (path.replace("{name}", name) for path in (section.certificate, section.key))
    try:
        context.load_cert_chain(certificate, key or None)
        if authorities:
            context.load_verify_locations(authorities)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:  # which ssl.SSLError is, too
        what = error.strerror or str(error)
        raise ConfigError(f"tls: {certificate}, {key or 'no key'}, {authorities or 'no authorities'}: {what}") from None
    return context


def certified_user(transport: asyncio.BaseTransport) -> str:
    """The common name in the client's certificate; empty where there is none."""
    names = _common_names(transport)
    return names[0] if names else ""


def certified_names(transport: asyncio.BaseTransport) -> tuple[str, ...]:
    """Whom the other end's certificate names: the common name, and all names of hosts."""
    certificate = transport.get_extra_info("peercert") or {}
    hosts = [str(value) for key, value in certificate.get("subjectAltName", ()) if key == "DNS"]
    return tuple(dict.fromkeys([*_common_names(transport), *hosts]))


def _common_names(transport: asyncio.BaseTransport) -> list[str]:
    certificate = transport.get_extra_info("peercert") or {}
    return [str(value) for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
