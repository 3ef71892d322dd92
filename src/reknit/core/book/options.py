"""The bounds of the book."""

from __future__ import annotations

import msgspec

__all__ = ["BookOptions"]


class BookOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lines_max: int = 300_000
    """Lines of the book, those that say that something is gone included; beyond it no new one is taken."""

    bytes_max: int = 512 * 1024 * 1024
    """Their names and values."""

    gone_s: float = 86_400.0
    """How long the book remembers that something is gone; a broker that was away for longer may bring it back."""
