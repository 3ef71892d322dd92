"""What ``reknit top`` shows: from two looks at the brokers' doors to rates, and from those to tables.

Owns: which counter is which column. Must not know: how brokers are asked, or when.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["BrokerRow", "LinkRow", "Look", "broker_rows", "link_rows", "tables"]


@dataclass(frozen=True, slots=True)
class Look:
    """What one broker said, at ``at`` seconds of a clock; nothing if it did not answer."""

    name: str
    at: float
    topology: Mapping[str, Any] | None
    counters: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class BrokerRow:
    broker: str
    state: str
    """``ready``, ``waiting for …`` or ``no answer``."""
    clients: int = 0
    sessions: int = 0
    in_per_s: float = 0.0
    """Messages from clients."""
    out_per_s: float = 0.0
    in_bytes_per_s: float = 0.0
    out_bytes_per_s: float = 0.0
    dropped_per_s: float = 0.0
    queued: int = 0
    """Messages that wait for clients, or for their acknowledgements."""
    turns_per_s: float = 0.0
    turn_p50_s: float | None = None


@dataclass(frozen=True, slots=True)
class LinkRow:
    a: str
    b: str
    up: bool
    """At both ends, where both answer."""
    outbox_bytes: int
    """What either has sent, and the other has not settled."""


def broker_rows(before: Iterable[Look], after: Iterable[Look]) -> list[BrokerRow]:
    known = {look.name: look for look in before}
    return [_row(known.get(look.name), look) for look in after]


def _row(before: Look | None, after: Look) -> BrokerRow:
    if after.topology is None or after.counters is None:
        return BrokerRow(after.name, "no answer")
    waiting = ", ".join(after.topology["waiting_for"])
    shell, mqtt = after.counters["shell"], after.counters["mqtt"]

    def rate(*path: str) -> float:
        return _rate(before, after, path)

    return BrokerRow(
        after.name,
        f"waiting for {waiting}" if waiting else "ready",
        mqtt["clients"],
        mqtt["sessions"],
        rate("mqtt", "received", "Publish"),
        rate("mqtt", "sent", "Publish"),
        rate("mqtt", "bytes_received"),
        rate("mqtt", "bytes_sent"),
        rate("mqtt", "dropped"),
        after.counters["queued"],
        rate("shell", "turns") if shell["turns"] else 0.0,
        after.counters["turn_p50_s"],
    )


def _rate(before: Look | None, after: Look, path: tuple[str, ...]) -> float:
    """In a second, between the looks; 0 where there is none before, or the broker has begun anew since."""
    if before is None or before.counters is None or after.counters is None or after.at <= before.at:
        return 0.0
    return max(_value(after.counters, path) - _value(before.counters, path), 0.0) / (after.at - before.at)


def _value(counters: Mapping[str, Any], path: tuple[str, ...]) -> float:
    found: Any = counters
    for part in path:
        found = found.get(part, 0) if isinstance(found, Mapping) else 0
    return float(sum(found.values()) if isinstance(found, Mapping) else found)


def link_rows(looks: Iterable[Look]) -> list[LinkRow]:
    ends: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for look in looks:
        for peer, link in (look.topology or {}).get("neighbours", {}).items():
            ends.setdefault((min(look.name, peer), max(look.name, peer)), []).append(link)
    return [
        LinkRow(a, b, all(each["up"] for each in found), sum(each["outbox_bytes"] for each in found))
        for (a, b), found in sorted(ends.items())
    ]


def tables(brokers: list[BrokerRow], links: list[LinkRow]) -> Group:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    shown = Table("broker", "state", box=None, pad_edge=False)
    for name in (
        "clients",
        "sessions",
        "in/s",
        "out/s",
        "kB/s in",
        "kB/s out",
        "dropped/s",
        "queued",
        "turns/s",
        "p50",
    ):
        shown.add_column(name, justify="right")
    for row in brokers:
        rates = (row.in_per_s, row.out_per_s, row.in_bytes_per_s / 1000, row.out_bytes_per_s / 1000, row.dropped_per_s)
        p50 = "" if row.turn_p50_s is None else f"{row.turn_p50_s * 1e6:.0f} µs"
        numbers = [str(row.clients), str(row.sessions), *(f"{each:,.1f}" for each in rates)]
        style = "" if row.state == "ready" else "red"
        shown.add_row(row.broker, Text(row.state, style), *numbers, str(row.queued), f"{row.turns_per_s:,.1f}", p50)
    linked = Table("link", "state", "not settled", box=None, pad_edge=False)
    for each in links:
        state = Text("up") if each.up else Text("down", "red")
        linked.add_row(f"{each.a} - {each.b}", state, f"{each.outbox_bytes:,} bytes")
    return Group(shown, "", linked) if links else Group(shown)
