"""What the layers of a broker know, for operators.

Owns: the names under which they see it; plain values only. Must not know: how anything came to be so.
"""

from __future__ import annotations

from typing import Any

from reknit.core.overlay.history import SWAP
from reknit.core.overlay.overlay import Overlay
from reknit.core.routing.gate import Gate
from reknit.core.routing.table import Table

__all__ = ["changes", "view"]


def view(gate: Gate, overlay: Overlay, table: Table) -> dict[str, Any]:
    links = overlay.links
    return {
        "ready": gate.open and all(link.greeted for link in links.of.values()),
        "waiting_for": gate.waiting_for,
        **_links(overlay),
        "changes": changes(overlay),
        "entries": [
            {"kind": kind, "hop": name, "topic": pattern.topic, "selector": pattern.selector}
            for kind, name in sorted(table.hops())
            for pattern in sorted(table.of((kind, name)))
        ],
        "malformed_frames": links.malformed,
    }


def _links(overlay: Overlay) -> dict[str, Any]:
    """In the tree, and outside of it."""
    tree = overlay.neighbours()
    links = {
        name: {"up": link.greeted, "outbox_bytes": link.outbox_bytes, "dropped": link.dropped}
        for name, link in sorted(overlay.links.of.items())
    }
    return {
        "wanted_links": {each.peer: each.last for each in overlay.joins.wanted.values()},
        "neighbours": {name: shown for name, shown in links.items() if name in tree},
        "other_links": {name: shown for name, shown in links.items() if name not in tree},
    }


def changes(overlay: Overlay) -> dict[str, Any]:
    """What is under way, what waits to be tried, and what was."""
    swaps, node = overlay.swaps, overlay.turn.node
    waiting = [
        {"kind": SWAP, "brokers": [node, wish.middle, wish.goal], "since": wish.begun, "why": wish.last}
        for wish in swaps.wishes
        if swaps.current is None or swaps.current.wish is not wish
    ]
    under_way, later = overlay.replaced()
    now = swaps.under_way() or under_way
    return {"under_way": now, "waiting": [*waiting, *later], "history": overlay.history.shown()}
