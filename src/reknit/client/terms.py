"""The terms on which a client connects: who it is, how it is secured, what of it is to stay.

Owns: what a program may choose about a connection, beside where it leads. Must not know: what is asked over it.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import aiomqtt

from reknit.client.errors import BadRequest
from reknit.client.properties import Pairs, to_paho

__all__ = ["FOR_EVER_S", "Terms", "Version", "Will"]

Version: TypeAlias = Literal["3.1", "3.1.1", "5"]
_PROTOCOLS = {
    "3.1": aiomqtt.ProtocolVersion.V31,
    "3.1.1": aiomqtt.ProtocolVersion.V311,
    "5": aiomqtt.ProtocolVersion.V5,
}
FOR_EVER_S = 0xFFFF_FFFF
"""The session expiry that means: it does not end."""


@dataclass(frozen=True, slots=True)
class Will:
    """What the broker publishes if the connection ends without a goodbye."""

    topic: str
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    properties: Pairs = ()


@dataclass(frozen=True, slots=True)
class Terms:
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    will: Will | None = None
    tls: ssl.SSLContext | None = None
    """None: in the clear."""
    version: Version = "5"
    """Attributes and selectors need 5."""
    clean: bool = True
    """Whether an earlier session of this client identifier ends."""
    session_expiry_s: int = 0
    """How long the session outlives the connection (5)."""
    in_flight_max: int = 20
    """Publications at QoS 1 and 2 on their way at once, where the broker takes as many; others wait here."""
    bind: str = ""
    """The own address to connect from."""
    nodelay: bool = False
    properties: Pairs = ()
    """More properties of the CONNECT."""

    @property
    def modern(self) -> bool:
        """Whether the connection can carry properties."""
        return self.version == "5"

    def settings(self) -> dict[str, Any]:
        """As the library takes them; ``BadRequest`` where they do not go together."""
        own = (("session-expiry-interval", self.session_expiry_s),) if self.session_expiry_s else ()
        if not self.modern and (own or self.properties or (self.will is not None and self.will.properties)):
            raise BadRequest(f"MQTT {self.version} has no properties, and no session expiry; use 5")
        settings: dict[str, Any] = {
            "protocol": _PROTOCOLS[self.version],
            "username": self.username,
            "password": self.password,
            "will": self._will(),
            "tls_context": self.tls,
            "bind_address": self.bind,
            "properties": to_paho("connect", (*own, *self.properties)),
        }
        settings |= {"clean_start": self.clean} if self.modern else {"clean_session": self.clean}
        if self.nodelay:
            settings["socket_options"] = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
        return settings

    def _will(self) -> aiomqtt.Will | None:
        will = self.will
        if will is None:
            return None
        return aiomqtt.Will(will.topic, will.payload, will.qos, will.retain, to_paho("will", will.properties))
