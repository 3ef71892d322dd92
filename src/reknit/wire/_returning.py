"""Messages of a broker that is back from the dead, and had taken part in a swap; see ``messages``."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = ["Inquire", "Mark", "Returning"]


class Inquire(msgspec.Struct, array_like=True, tag=41, frozen=True, gc=False):
    """Life ``life`` of broker ``of`` asks ``to``, which is as near to the goal as it is itself, or is the middle:

    has all gone the new way that your former life had, and that you may have had twice?
    """

    id: tuple[str, int]
    of: str
    to: str
    life: int


class Mark(msgspec.Struct, array_like=True, tag=42, frozen=True, gc=False):
    """The answer: what there was stands before this. It takes the way that events take.

    ``by``: the life that answers; 0 if nobody had to.
    """

    id: tuple[str, int]
    to: str
    life: int
    by: int = 0


Returning: TypeAlias = Inquire | Mark
