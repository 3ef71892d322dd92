"""From a selector's text to its tree, or to an error that shows where and why.

Owns: the errors that people see, and how long a text may be. Must not know: the grammar (see ``reading``), or what a
condition evaluates to.
"""

from __future__ import annotations

import re

from reknit.model.errors import BadPattern
from reknit.model.selector.syntax import SELECTOR_NESTING_MAX, SELECTOR_TERMS_MAX, Condition

__all__ = ["SELECTOR_CHARS_MAX", "SELECTOR_NESTING_MAX", "SELECTOR_TERMS_MAX", "BadSelector", "parse"]

SELECTOR_CHARS_MAX = 4096

_SURROGATE = re.compile("[\ud800-\udfff]")

_SHOWN_CHARS = 60
"""How much of a long line an error shows on either side of the fault."""


class BadSelector(BadPattern):
    """The subscriber's fault. ``line`` and ``column`` count from 1; the message shows the place."""

    def __init__(self, why: str, text: str, at: int) -> None:
        before = text[:at]
        self.why = why
        self.line = before.count("\n") + 1
        self.column = at - (before.rfind("\n") + 1) + 1
        super().__init__(f"bad selector at line {self.line}, column {self.column}: {why}\n{_picture(text, at)}")


def _picture(text: str, at: int) -> str:
    """The faulty line, cut if it is long, with a caret under the fault."""
    start = max(text.rfind("\n", 0, at) + 1, at - _SHOWN_CHARS)
    end = text.find("\n", at)
    line = text[start : min(len(text) if end < 0 else end, at + _SHOWN_CHARS)]
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
    return f"  {shown}\n  {' ' * (at - start)}^"


def parse(text: str) -> Condition:
    """The tree of a selector as it was written; ``BadSelector`` if it is none."""
    if len(text) > SELECTOR_CHARS_MAX:
        raise BadSelector(f"it is longer than {SELECTOR_CHARS_MAX} characters", text, SELECTOR_CHARS_MAX)
    if (odd := _SURROGATE.search(text)) is not None:
        raise BadSelector("half a character stands here, which cannot be written as UTF-8", text, odd.start())
    # With the first selector, not before: reading the grammar takes a third of the time in which a broker starts.
    from reknit.model.selector.reading import Fault, read

    try:
        return read(text)
    except Fault as fault:
        raise BadSelector(fault.why, text, fault.at) from None
