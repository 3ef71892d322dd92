"""The one error that every fault in a pattern is a kind of.

Owns: the common ancestor, so that a door can refuse any bad pattern with one ``except``. Must not know: what the
parts of a pattern are; each raises a subclass of its own.
"""

from __future__ import annotations

__all__ = ["BadPattern"]


class BadPattern(ValueError):
    """The subscriber's fault: a topic filter or a selector that is none, or a pattern that is not canonical."""
