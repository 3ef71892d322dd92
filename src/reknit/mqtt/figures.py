"""The figures of a door, from its counters: what the bulletin says.

Owns: which counter is which topic of mosquitto's. Must not know: how or when it is said.
"""

from __future__ import annotations

from collections.abc import Mapping

from reknit.mqtt.bulletin import Figures
from reknit.mqtt.options import DoorCounters
from reknit.mqtt.session import Session

__all__ = ["figures"]


def figures(counters: DoorCounters, sessions: Mapping[str, Session], retained: int, version: str) -> Figures:
    """``retained``: how many messages are kept for later subscribers. ``version``: the program's."""
    away = len(sessions) - counters.clients
    now = {
        "clients/total": len(sessions),
        "clients/connected": counters.clients,
        "clients/active": counters.clients,
        "clients/disconnected": away,
        "clients/inactive": away,
        "clients/maximum": counters.clients_max,
        "clients/expired": counters.expired,
        "subscriptions/count": sum(len(session.subscriptions) for session in sessions.values()),
        "retained messages/count": retained,
    }
    total = {
        "messages/received": counters.received.total(),
        "messages/sent": counters.sent.total(),
        "publish/messages/received": counters.received["Publish"],
        "publish/messages/sent": counters.sent["Publish"],
        "publish/messages/dropped": counters.dropped.total(),
        "bytes/received": counters.bytes_received,
        "bytes/sent": counters.bytes_sent,
    }
    loads = {
        "messages/received": total["messages/received"],
        "messages/sent": total["messages/sent"],
        "publish/received": total["publish/messages/received"],
        "publish/sent": total["publish/messages/sent"],
        "publish/dropped": total["publish/messages/dropped"],
        "bytes/received": counters.bytes_received,
        "bytes/sent": counters.bytes_sent,
        "sockets": counters.accepted,
        "connections": counters.received["Connect"],
    }
    return Figures(f"reknit version {version}", now, total, loads)
