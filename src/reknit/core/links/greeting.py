"""What a greeting must say for its sender to be spoken with at all, whatever else it wants.

Owns: these conditions, and their words. Must not know: connections, or who is a neighbour.
"""

from __future__ import annotations

from reknit.core.links.options import LinkOptions
from reknit.wire.codec import VERSION
from reknit.wire.messages import Hello

__all__ = ["objection"]


def objection(hello: Hello, dialect: str, options: LinkOptions, names: tuple[str, ...] | None) -> str:
    """What is wrong with it, or empty. ``names``: as whom it may come, by its certificate; None where it needs none."""
    if hello.version != VERSION:
        return f"speaks version {hello.version}, not {VERSION}"
    if hello.dialect != dialect:
        return f"routes by {hello.dialect}, not by {dialect}"
    if not hello.name:
        return "a greeting without a name"
    if names is not None and hello.name not in names:
        return f"the certificate names {', '.join(names) or 'nobody'}, not {hello.name}"
    if hello.loose != options.is_loose(hello.name):
        kinds = ("datagrams", "a stream")
        one, other = kinds if hello.loose else kinds[::-1]
        return f"takes the link for {one}, not for {other}"
    return ""
