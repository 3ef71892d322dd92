"""Events that were missed: what a broker says of gaps, as values.

Owns: the value, and how it is read from a message. Must not know: connections.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, cast

from reknit.client.event import Event
from reknit.client.subscription import Subscription

__all__ = ["GAPS", "Gap", "GapState", "Gaps", "read_gap"]

GAPS = "$reknit/gaps/#"
GapState = Literal["missing", "recovered", "given up"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Events of ``source`` for ``pattern``, from number ``first`` to ``last``, and what has become of them.

    ``source``: one life of the broker where they were published. ``selector``: of the subscription, as the broker
    writes it.
    """

    source: str
    pattern: str
    first: int
    last: int
    state: GapState = "missing"
    selector: str = ""


def read_gap(event: Event) -> Gap | None:
    """None if it is no such message."""
    try:
        said = json.loads(event.payload)
        return Gap(
            str(said["source"]),
            str(said["topic"]),
            int(said["first"]),
            int(said["last"]),
            cast(GapState, str(said["state"])),
            str(said["selector"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


class Gaps:
    """``async with client.gaps() as gaps: async for gap in gaps: ...``."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    async def __aenter__(self) -> Gaps:
        await self._subscription.__aenter__()
        return self

    async def __aexit__(self, *reason: object) -> None:
        await self._subscription.__aexit__(*reason)

    def __aiter__(self) -> Gaps:
        return self

    async def __anext__(self) -> Gap:
        while True:
            if (gap := read_gap(await self._subscription.__anext__())) is not None:
                return gap
