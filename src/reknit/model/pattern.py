"""A pattern: a topic filter and a selector together, what a routing table holds. (placeholder, being written)"""

from __future__ import annotations

import msgspec


class Pattern(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    topic: str
    selector: str = ""
