"""One turn of the core: what the layers share while one input is handled.

Owns: the time of the turn, and the lists into which the layers put effects and observations. Must not know: which
layer puts what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reknit.core.io import Effect, Observe
from reknit.trace.records import Kind, Record

if TYPE_CHECKING:
    from reknit.core.links.custody import Custody

__all__ = ["Turn"]


class Turn:
    """The layers of one broker hold the same turn; the broker sets its time and takes its effects."""

    __slots__ = ("custodies", "effects", "node", "now", "observing", "records")

    def __init__(self, node: str, observing: bool) -> None:
        self.node = node
        self.observing = observing
        self.now = 0.0
        self.effects: list[Effect] = []
        self.records: list[Record] = []
        self.custodies: list[Custody] = []  # held until the turn ends

    def end(self) -> list[Effect]:
        if self.records:
            self.effects.append(Observe(self.records))
            self.records = []
        return self.effects

    def see(self, kind: Kind, **fields: Any) -> None:
        """For the trace, if there is one."""
        if self.observing:
            self.records.append(Record(self.now, self.node, kind, **fields))

    def tell(self, kind: Kind, **fields: Any) -> None:
        """What an operator must hear of, whether there is a trace or not."""
        self.records.append(Record(self.now, self.node, kind, **fields))
