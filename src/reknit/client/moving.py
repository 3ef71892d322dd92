"""Where a broker sends its clients when it is drained: reading its server reference.

Owns: the meaning of the reference, and which reasons come with one. Must not know: connections.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Place", "referred"]

_ELSEWHERE = (0x9C, 0x9D)
"""Use another server; server moved."""

PORT_DEFAULT = 1883
PORT_MAX = 65_535


class Place(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def referred(reason: Any, properties: Any) -> Place | None:
    """Where the broker says that this client is to go, if it does. Of several servers, the first."""
    if getattr(reason, "value", None) not in _ELSEWHERE:
        return None
    words = str(getattr(properties, "ServerReference", "")).split()
    return _place(words[0]) if words else None


def _place(text: str) -> Place | None:
    if text.count(":") > 1 and not text.startswith("["):
        return Place(text, PORT_DEFAULT)  # an address of IP version 6, bare
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    host = (host if colon else text).removeprefix("[").removesuffix("]")
    if not colon:
        return Place(host, PORT_DEFAULT) if host else None
    return Place(host, int(port)) if host and port.isascii() and port.isdigit() and int(port) <= PORT_MAX else None
