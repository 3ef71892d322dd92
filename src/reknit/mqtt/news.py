"""News of clients: who has come, gone or been turned away, for whoever keeps a log.

Owns: what is told of a client, which is never its password, nor anything that it sends. Must not know: who reads it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from reknit.mqtt.packets import V3_1_1
from reknit.mqtt.session import Connection

__all__ = ["Kind", "News", "news_of"]

Kind: TypeAlias = Literal["connected", "disconnected", "refused"]


class News(msgspec.Struct, frozen=True, gc=False):
    kind: Kind
    conn: int
    client: str = ""
    user: str = ""
    version: str = ""
    reason: str = ""


def news_of(kind: Kind, connection: Connection, reason: str = "") -> News:
    """``reason``: of an end."""
    version = "" if not connection.version else "3.1.1" if connection.version == V3_1_1 else "5.0"
    return News(kind, connection.conn, connection.client, connection.user, version, reason)
