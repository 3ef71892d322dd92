"""The memberships by their names.

Owns: the names. Must not know: what any of them does.
"""

from __future__ import annotations

from reknit.community.memberships.base import Membership
from reknit.community.memberships.scamp import Scamp
from reknit.community.memberships.semi_structured import SemiStructured
from reknit.community.memberships.static import Static
from reknit.community.memberships.structured import Structured

__all__ = ["MEMBERSHIPS", "membership_of"]

MEMBERSHIPS: dict[str, type[Membership]] = {
    "scamp": Scamp,
    "semi-structured": SemiStructured,
    "static": Static,
    "structured": Structured,
}


def membership_of(name: str) -> type[Membership]:
    """Raise ``ValueError`` where there is none of this name."""
    if name not in MEMBERSHIPS:
        raise ValueError(f"membership {name!r}: it is one of {', '.join(sorted(MEMBERSHIPS))}")
    return MEMBERSHIPS[name]
