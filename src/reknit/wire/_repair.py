"""What brokers say so that a tree can be repaired when one of them is lost.

Owns: these words; ``messages`` lends them out. Must not know: what a repair is.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = ["Apart", "Around", "RepairMessage"]


class Around(msgspec.Struct, array_like=True, tag=43, frozen=True, gc=False):
    """The sender's other neighbours, and where they can be dialled: whom to turn to, should the sender be lost."""

    neighbours: list[tuple[str, str]]


class Apart(msgspec.Struct, array_like=True, tag=44, frozen=True, gc=False):
    """Floods a part of the tree: ``lost`` was given up, and other brokers may have been lost with it."""

    lost: str


RepairMessage: TypeAlias = Around | Apart
