"""What a running broker shows to those who look in: its neighbours, for whom it waits, what it has counted.

Owns: the words for it, as plain values. Must not know: who asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from reknit.core.ring_broker import RingBroker

if TYPE_CHECKING:
    from reknit.live.driver import Driver

__all__ = ["astray", "count", "neighbours", "waiting", "waiting_for"]


def waiting_for(driver: Driver) -> list[str]:
    """The neighbours without which this broker is not ready. Asked often, so it looks at no table."""
    broker = driver.broker
    down = [name for name, link in broker.links.of.items() if not link.greeted]
    wanted = [each.peer for each in broker.overlay.joins.wanted.values() if not each.refused]
    return sorted({*down, *wanted, *broker.gate.missing})


def astray(driver: Driver) -> str:
    """Why a broker is not on one ring with those that it is to join; empty if it is, or is on none."""
    return driver.broker.astray() if isinstance(driver.broker, RingBroker) else ""


def neighbours(driver: Driver) -> dict[str, dict[str, Any]]:
    """Each neighbour in the tree, how its link is, and what went wrong with it last."""
    tree = driver.broker.overlay.neighbours()
    return {
        name: {"up": link.greeted, "outbox_bytes": link.outbox_bytes, "last": _last(driver, name)}
        for name, link in sorted(driver.broker.links.of.items())
        if name in tree
    }


def waiting(driver: Driver) -> dict[str, str]:
    """Those that this broker is to be linked with and is not, and what went wrong with each last."""
    refused = [each.peer for each in driver.broker.overlay.joins.wanted.values() if each.refused]
    return {name: _last(driver, name) for name in sorted({*waiting_for(driver), *refused})}


def _last(driver: Driver, name: str) -> str:
    seen = driver.journal.neighbours.get(name)
    return seen.last if seen is not None else ""


def count(driver: Driver) -> dict[str, Any]:
    """All counters, by who counts."""
    shell = {
        "clients": len(driver.clients),
        "links": len(driver.links),
        "passwords_unread": driver.guard.refused_unread,
        "clients_relayed": driver.relays.served,
    }
    counted = {
        "shell": {**msgspec.to_builtins(driver.counters), **shell},
        "mqtt": msgspec.to_builtins(driver.door.counters),
        "core": {
            "malformed_frames": driver.broker.links.malformed,
            "unrouted": driver.broker.transit.unrouted,
            "book_refused": driver.broker.book.refused,
            "homes_dropped": driver.broker.homes.dropped,
        },
        "neighbours": msgspec.to_builtins(driver.journal.neighbours),
        "queued": driver.door.queued,
        "turn_p50_s": driver.pace.p50_s,
    }
    if driver.store is not None:
        counted["store"] = msgspec.to_builtins(driver.store)
    if driver.gateway is not None:
        counted["communities"] = driver.gateway()
    if driver.trace is not None:
        counted["trace"] = {"written": driver.trace.written, "dropped": driver.trace.dropped}
    return counted
