"""What the layers of a broker know, for operators.

Owns: the names under which they see it; plain values only. Must not know: how anything came to be so.
"""

from __future__ import annotations

from typing import Any

from reknit.core.overlay.overlay import Overlay
from reknit.core.routing.gate import Gate
from reknit.core.routing.table import Table

__all__ = ["view"]


def view(gate: Gate, overlay: Overlay, table: Table) -> dict[str, Any]:
    links = overlay.links
    return {
        "ready": gate.open and all(link.greeted for link in links.of.values()),
        "waiting_for": gate.waiting_for,
        **overlay.table(),
        "entries": [
            {"kind": kind, "hop": name, "topic": pattern.topic, "selector": pattern.selector}
            for kind, name in sorted(table.hops())
            for pattern in sorted(table.of((kind, name)))
        ],
        "malformed_frames": links.malformed,
    }
