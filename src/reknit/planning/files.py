"""Plans as files, of every kind; the same plan gives the same bytes.

Owns: the form of the file, its version, and which kinds there are. Must not know: what a plan of some kind says.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from reknit.planning.placement_plan import PlacementPlan
from reknit.planning.plan import VERSION, Plan
from reknit.planning.ring_plan import RingPlan

__all__ = ["AnyPlan", "BadPlan", "read_plan", "write_plan"]

AnyPlan: TypeAlias = Plan | RingPlan | PlacementPlan


class BadPlan(ValueError):
    """A file that is no plan."""

    exit_code = 2


class _Head(msgspec.Struct, frozen=True):
    """What all versions have."""

    version: int


def write_plan(plan: AnyPlan) -> bytes:
    return msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n"


def read_plan(data: bytes) -> AnyPlan:
    """``BadPlan`` says why it is none, or of which version."""
    try:
        head = msgspec.json.decode(data, type=_Head)
        if head.version != VERSION:
            raise BadPlan(f"a plan of version {head.version}; this reknit reads {VERSION}: make it anew from the trace")
        return msgspec.json.decode(data, type=AnyPlan)  # type: ignore[no-any-return]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadPlan(f"no plan: {error}") from error
