"""What is kept of selectors that were met lately: their trees and their matchers, by canonical text.

A table of 100,000 patterns holds their texts only. A tree is needed when a pattern enters an index, a matcher when an
event meets a pattern outside of one; both come from here, and are made anew if they have been forgotten. Forgetting is
the only effect that the bounds have.

That a text is canonical is remembered for far more of them, by a digest: whole tables travel when links move, and to
read each selector again, only to find that it is what it was, would stop a broker for seconds.

Owns: these caches. Must not know: which pattern a selector belongs to.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Generic, TypeVar

from reknit.model.selector.canonical import canonical, unparse
from reknit.model.selector.evaluate import View, matcher
from reknit.model.selector.parse import BadSelector, parse
from reknit.model.selector.syntax import Boolean, Condition

__all__ = ["canonical_text", "condition_of", "matcher_of"]

RECENT_MAX = 1024
"""How many trees, how many matchers and how many readings are kept."""

KNOWN_MAX = 1 << 18
"""Of how many texts it is remembered that they are canonical; about 150 bytes each."""

DIGEST_BYTES = 16

V = TypeVar("V")


class _Recent(Generic[V]):
    """The values asked for last, by text."""

    __slots__ = ("_make", "_values")

    def __init__(self, make: Callable[[str], V]) -> None:
        self._make = make
        self._values: OrderedDict[str, V] = OrderedDict()

    def get(self, text: str) -> V:
        value = self._values.get(text)
        if value is None:
            value = self._make(text)
            self.put(text, value)
        else:
            self._values.move_to_end(text)
        return value

    def put(self, text: str, value: V) -> None:
        self._values[text] = value
        while len(self._values) > RECENT_MAX:
            self._values.popitem(last=False)


class _Known:
    """Texts that are canonical, by their digests; of too many the oldest go."""

    __slots__ = ("_digests",)

    def __init__(self) -> None:
        self._digests: dict[bytes, None] = {}

    def has(self, text: str) -> bool:
        return _digest(text) in self._digests

    def add(self, text: str) -> None:
        if len(self._digests) >= KNOWN_MAX:
            del self._digests[next(iter(self._digests))]
        self._digests[_digest(text)] = None


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=DIGEST_BYTES).digest()


def _canonical_text(text: str) -> str:
    if _known.has(text):
        return text
    tree = canonical(parse(text))
    if tree == Boolean(True):
        return ""
    form = unparse(tree)
    if form != text:
        _check_form(form, text)
    _conditions.put(form, tree)
    _known.add(form)
    return form


def _check_form(form: str, text: str) -> None:
    """Refuse a selector whose canonical form another broker would not read back: it would refuse it for ever."""
    try:
        again = unparse(canonical(parse(form)))
    except BadSelector as error:
        raise BadSelector(f"written out in full, {error.why}", text, len(text)) from None
    if again != form:
        raise BadSelector("it cannot be written in one form", text, len(text))


_known = _Known()
_conditions: _Recent[Condition] = _Recent(parse)
_texts: _Recent[str] = _Recent(_canonical_text)
_matchers: _Recent[Callable[[View], bool]] = _Recent(lambda text: matcher(condition_of(text)))


def canonical_text(text: str) -> str:
    """The canonical text of a selector: empty if it is true for every event. ``BadSelector`` if it is none."""
    return _texts.get(text) if text else ""


def condition_of(text: str) -> Condition:
    """The tree of a canonical text that is not empty."""
    return _conditions.get(text)


def matcher_of(text: str) -> Callable[[View], bool]:
    """A test whether a canonical text that is not empty is true for an event's attributes."""
    return _matchers.get(text)
