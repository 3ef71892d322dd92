"""TLS at the clients' door.

Owns: the certificate of the broker, and whom a client's certificate names. Must not know: what is said inside.
"""

from __future__ import annotations

import asyncio
import ssl

import msgspec

from reknit.live.errors import ConfigError

__all__ = ["TlsSection", "certified_user", "server_context"]


class TlsSection(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``[tls]``: for the addresses that speak it."""

    certificate: str = ""
    """The broker's certificate, in PEM, with those between it and its authority."""
    key: str = ""
    """The key for it; empty if it stands in the same file."""
    client_authorities: str = ""
    """Whoever comes must have a certificate of one of these, and its common name is the user's name."""


def server_context(section: TlsSection) -> ssl.SSLContext:
    """TLS 1.2 or newer. ``ConfigError`` if a file is missing or does not fit."""
    if not section.certificate:
        raise ConfigError("tls: `certificate` is needed where an address speaks TLS")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(section.certificate, section.key or None)
        if section.client_authorities:
            context.load_verify_locations(section.client_authorities)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:  # which ssl.SSLError is, too
        what = error.strerror or str(error)
        raise ConfigError(f"tls: {section.certificate}, {section.key or 'no key'}: {what}") from None
    return context


def certified_user(transport: asyncio.BaseTransport) -> str:
    """The common name in the client's certificate; empty where there is none."""
    certificate = transport.get_extra_info("peercert") or {}
    names = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    return str(names[0]) if names else ""
