"""How often events crossed links, counted in a trace.

Owns: the count, over records in memory and over the files of a trace. Must not know: why somebody asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from reknit.core.overlay.shapes import Edge
from reknit.trace.records import Kind, Record

__all__ = ["Crossings", "crossings", "crossings_in"]

_Seen: TypeAlias = tuple[float, str, str, str, str, int]
"""Time, kind, node, peer, source and number of what was published or forwarded."""
_COLUMNS = ("time", "kind", "node", "peer", "source", "seq")


class Crossings(msgspec.Struct, frozen=True):
    """What the events of some time did to the links."""

    events: int
    crossed: int
    links: dict[str, int]

    @property
    def per_event(self) -> float:
        return self.crossed / max(self.events, 1)

    @property
    def by_link(self) -> dict[Edge, int]:
        return {(one, other): count for link, count in self.links.items() for one, _, other in [link.partition(" - ")]}


def crossings(records: Sequence[Record], begin: float, end: float) -> Crossings:
    """Of the events that were published in between."""
    seen = (
        (each.time, each.kind.value, each.node, each.peer, *each.event.id) for each in records if each.event is not None
    )
    return _count(seen, begin, end)


def crossings_in(trace: Path, begin: float, end: float) -> Crossings:
    """The same, of the segments that are there; only what is later than ``begin`` is read."""
    import pyarrow.dataset as ds

    files = sorted(str(path) for path in trace.glob("node-*/*.parquet"))
    if not files:
        return Crossings(0, 0, {})
    kinds = [Kind.PUBLISHED.value, Kind.FORWARDED.value]
    wanted = (ds.field("time") >= begin) & ds.field("kind").isin(kinds)
    table = ds.dataset(files, format="parquet").to_table(columns=list(_COLUMNS), filter=wanted)
    return _count(zip(*(table[name].to_pylist() for name in _COLUMNS), strict=True), begin, end)


def _count(seen: Iterable[_Seen], begin: float, end: float) -> Crossings:
    """Files are read one node after another, so what was published is gathered before anything is counted."""
    rows = list(seen)
    published = {
        (source, seq): None
        for time, kind, _, _, source, seq in rows
        if kind == Kind.PUBLISHED.value and begin <= time <= end
    }
    links: Counter[str] = Counter(
        " - ".join(sorted((node, peer)))
        for _, kind, node, peer, source, seq in rows
        if kind == Kind.FORWARDED.value and (source, seq) in published
    )
    return Crossings(len(published), links.total(), dict(sorted(links.items())))
