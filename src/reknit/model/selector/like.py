"""LIKE, in linear time.

A pattern is cut at its ``%`` into segments of fixed length. The first segment must stand at the text's beginning, the
last at its end, and each one between is taken at its leftmost place after the one before: if any placement works, the
leftmost does, so nothing is ever tried twice. A segment without ``_`` is found by the string search of the language;
one with ``_`` by shift-and: a machine of one bit per position that reads each character of the text once.

The same machine decides whether one pattern covers another: the covered pattern is read as a text in which ``_`` and
``%`` are letters of their own. A ``_`` of the cover takes any letter but ``%``, a ``%`` takes anything.

Owns: matching and covering of LIKE patterns in the form of ``syntax.Like``. Must not know: conditions, or unknown
values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["like_covers", "like_literal", "like_matcher", "like_normal", "like_prefix"]

_ONE, _MANY = "\ud800", "\ud801"
"""Stand for ``_`` and ``%`` among the characters of a pattern: no well formed text can hold them."""

_WILD = {"_": _ONE, "%": _MANY}

Search: TypeAlias = Callable[[str, int, int], int]
"""Where a segment begins at its leftmost between two positions of a text; -1 if nowhere."""


def _letters(pattern: str) -> str:
    """The pattern with escapes resolved and wildcards replaced by their stand-ins."""
    letters, escaped = [], False
    for char in pattern:
        if escaped:
            letters.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            letters.append(_WILD.get(char, char))
    return "".join(letters)


def like_normal(pattern: str) -> str:
    """The one spelling of all patterns that differ in their runs of wildcards only: ``%_%`` is ``_%``."""
    letters, run = [], ""
    for char in _letters(pattern) + "\0":
        if char in (_ONE, _MANY):
            run += char
            continue
        letters.append("_" * run.count(_ONE) + "%" * (_MANY in run))
        letters.append("\\" + char if char in "\\%_" else char)
        run = ""
    return "".join(letters[:-1])


def like_literal(pattern: str) -> str | None:
    """The only text that the pattern matches, if it has no wildcard."""
    letters = _letters(pattern)
    return None if _ONE in letters or _MANY in letters else letters


def like_prefix(pattern: str) -> tuple[str, bool]:
    """What every matching text begins with, and whether that is all that the pattern asks."""
    letters = _letters(pattern)
    end = min((at for at in (letters.find(_ONE), letters.find(_MANY)) if at >= 0), default=len(letters))
    return letters[:end], letters[end:] == _MANY


def like_matcher(pattern: str) -> Callable[[str], bool]:
    """A test whether a text matches the pattern."""
    return _machine(_letters(pattern), "")


def like_covers(wide: str, narrow: str) -> bool:
    """Whether ``wide`` surely matches every text that ``narrow`` matches. Sound; complete but for rare shapes."""
    return wide == narrow or _machine(_letters(wide), _MANY)(_letters(narrow))


def _machine(letters: str, never: str) -> Callable[[str], bool]:
    """A matcher whose ``_`` takes any character but ``never``."""
    head, *rest = letters.split(_MANY)
    if not rest:
        return lambda text: len(text) == len(head) and _stands(head, text, 0, never)
    tail = rest.pop()
    middle = [(len(segment), _search(segment, never)) for segment in rest if segment]
    fixed_length = len(head) + len(tail) + sum(length for length, _ in middle)

    def matches(text: str) -> bool:
        end = len(text) - len(tail)
        if len(text) < fixed_length or not (_stands(head, text, 0, never) and _stands(tail, text, end, never)):
            return False
        at = len(head)
        for length, search in middle:
            at = search(text, at, end)
            if at < 0:
                return False
            at += length
        return True

    return matches


def _stands(segment: str, text: str, at: int, never: str) -> bool:
    """Whether the text has this segment at this place; the caller has made sure of the length."""
    if _ONE not in segment:
        return text.startswith(segment, at)
    return all(
        letter == char or (letter == _ONE and char != never)
        for letter, char in zip(segment, text[at : at + len(segment)], strict=True)
    )


def _search(segment: str, never: str) -> Search:
    if _ONE not in segment:
        return lambda text, start, end: text.find(segment, start, end)
    anything = sum(1 << place for place, letter in enumerate(segment) if letter == _ONE)
    allowed = dict.fromkeys(segment, anything)
    for place, letter in enumerate(segment):
        allowed[letter] |= 1 << place
    if never:
        allowed[never] = 0
    last = 1 << (len(segment) - 1)

    def search(text: str, start: int, end: int) -> int:
        state = 0
        for at in range(start, end):
            state = ((state << 1) | 1) & allowed.get(text[at], anything)
            if state & last:
                return at + 1 - len(segment)
        return -1

    return search
