"""News of clients: who has come, gone or been turned away, and whose queue is full, for whoever keeps a log.

Owns: what is told of a client, which is never its password, nor anything that it sends. Must not know: who reads it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from reknit.mqtt.packets import V3_1_1
from reknit.mqtt.session import Connection, Session

__all__ = ["Kind", "News", "drop_news", "news_of"]

Kind: TypeAlias = Literal["connected", "disconnected", "refused", "dropping", "dropped"]


class News(msgspec.Struct, frozen=True, gc=False):
    kind: Kind
    conn: int
    client: str = ""
    user: str = ""
    version: str = ""
    reason: str = ""
    count: int = 0
    """Of messages that were dropped."""


def news_of(kind: Kind, connection: Connection, reason: str = "") -> News:
    """``reason``: of an end."""
    version = "" if not connection.version else "3.1.1" if connection.version == V3_1_1 else "5.0"
    return News(kind, connection.conn, connection.client, connection.user, version, reason)


def drop_news(kind: Kind, session: Session) -> News:
    """The client may be away, and have no connection."""
    conn = session.connection.conn if session.connection is not None else 0
    return News(kind, conn, session.client, session.user, reason="queue full", count=session.dropped)
