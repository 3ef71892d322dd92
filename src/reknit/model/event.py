"""What flows: an event, and the attributes that patterns are matched against.

Owns: the shape of an event, the bounds of its attributes, and how an attribute's type survives a door that
speaks text only. Must not know: topics filters, brokers, or how an event is encoded.

An attribute is a string, a 64-bit integer, a float or a boolean. Three maps can hold one, in this order of precedence:

- ``attributes``: typed by the publisher (Python, or any client that sends the types property);
- ``properties``: text from MQTT user properties, forwarded verbatim. Such a text takes the type of what it is
  compared with, so the view gives it as ``Text``, which the selector may read as a number or a boolean;
- ``derived``: top-level scalars of a JSON payload, read once by the broker that accepted the event.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec

__all__ = [
    "INTEGER_MAX",
    "INTEGER_MIN",
    "MARKS_BYTES_MAX",
    "NUMBERS_MAX",
    "ORDER_PROPERTY",
    "SELECTOR_PROPERTY",
    "TYPES_PROPERTY",
    "Attributes",
    "BadAttribute",
    "Envelope",
    "Event",
    "EventId",
    "Scalar",
    "Share",
    "Sharing",
    "Text",
    "check_attributes",
    "derive_attributes",
    "event_bytes",
    "from_properties",
    "to_properties",
]

Scalar: TypeAlias = str | int | float | bool
Attributes: TypeAlias = dict[str, Scalar]
EventId: TypeAlias = tuple[str, int]

INTEGER_MIN = -(2**63)
INTEGER_MAX = 2**63 - 1

SELECTOR_PROPERTY = "selector"
ORDER_PROPERTY = "order"
"""The user property of a SUBSCRIBE that holds the selector of all its filters."""

TYPES_PROPERTY = "reknit-types"
"""The user property that names the types of others: a JSON object from name to one of ``s i f b``."""


class BadAttribute(ValueError):
    """The publisher's fault: a name or a value that no attribute can have."""


class Text(str):
    """An untyped text: it takes the type of what it is compared with."""

    __slots__ = ()


class Envelope(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What a publisher says of a message beside its content. Most events have none."""

    retain: bool = False
    """Keep it for those who subscribe later; with an empty payload: forget what was kept."""
    expires: float = 0.0
    """In seconds since 1970; after that nobody is to get it any more. 0 for never."""
    is_text: bool = False
    """The payload is UTF-8."""
    response_topic: str = ""
    correlation: bytes | None = None


NUMBERS_MAX = 256
"""Patterns that an event is numbered for."""

MARKS_BYTES_MAX = 64 * 1024
"""What brokers say of an event; see ``Event.marks``."""


class Share(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A group that shares a pattern, and the broker that is to hand the event to one of its members."""

    group: str
    topic: str
    selector: str
    broker: str


class Sharing(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Who gets an event on behalf of groups. Most events have none."""

    choices: tuple[Share, ...] = ()
    tried: tuple[str, ...] = ()
    """Brokers that had no member any more; who sends it on adds itself."""
    of: EventId = ("", 0)
    """The event that this one was made of; then it is for the one group alone."""

    @property
    def alone(self) -> bool:
        return bool(self.of[0])


class Event(msgspec.Struct, array_like=True, gc=False):
    """One event. The broker that accepts it stamps ``source`` and ``seq``, once; from then on it never changes.

    ``source`` names one life of one broker, so that a restarted broker cannot repeat an id.
    """

    topic: str
    payload: bytes = b""
    attributes: Attributes = {}
    properties: tuple[tuple[str, str], ...] = ()
    derived: Attributes = {}
    qos: int = 0
    content_type: str = ""
    source: str = ""
    seq: int = 0
    envelope: Envelope | None = None
    sharing: Sharing | None = None
    number: Annotated[int, msgspec.Meta(ge=0, le=INTEGER_MAX)] | None = None
    """Of all that its source has published for the first pattern of ``marks``, where somebody counts."""
    marks: Annotated[bytes, msgspec.Meta(max_length=MARKS_BYTES_MAX)] = b""
    """What brokers say of it so that it can be missed, and found again: bytes that nearly nobody reads."""

    @property
    def id(self) -> EventId:
        return (self.source, self.seq)

    def view(self) -> Attributes:
        """All attributes by name; untyped ones as ``Text``. Of two properties with one name the last counts."""
        if not self.properties:
            return {**self.derived, **self.attributes} if self.derived else self.attributes
        merged: Attributes = dict(self.derived)
        for name, value in self.properties:
            merged[name] = Text(value)
        merged.update(self.attributes)
        return merged


EVENT_OVERHEAD_BYTES = 320
"""What an event takes beside its texts: the struct, the headers of topic and payload, its place in a queue."""

_MAP_BYTES = 240  # a dictionary or a tuple, however little it holds
_ENTRY_BYTES = 120  # a name and a value, beside their characters
_CHARACTER_BYTES_MAX = 4


T = TypeVar("T")


def in_order_of_numbers(items: Sequence[T], event_of: Callable[[T], Event]) -> list[T]:
    """The same items, those of one source in the order of their numbers; which source is when stays as it is."""
    places: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        places.setdefault(event_of(item).source, []).append(place)
    sorted_items = list(items)
    for some in places.values():
        in_order = sorted((items[place] for place in some), key=lambda item: event_of(item).seq)
        for place, item in zip(some, in_order, strict=True):
            sorted_items[place] = item
    return sorted_items


def event_bytes(event: Event) -> int:
    """About how much memory an event holds; the same number at each call, once the event no longer changes."""
    size = EVENT_OVERHEAD_BYTES + len(event.payload) + len(event.topic) + len(event.marks)
    if event.content_type:
        size += _text_bytes(event.content_type)
    if event.envelope is not None:
        size += _ENTRY_BYTES + _text_bytes(event.envelope.response_topic) + len(event.envelope.correlation or b"")
    if event.sharing is not None:
        size += _MAP_BYTES + sum(_ENTRY_BYTES + len(share.topic) for share in event.sharing.choices)
    if event.properties:
        size += _MAP_BYTES + sum(_ENTRY_BYTES + _text_bytes(n) + _text_bytes(text) for n, text in event.properties)
    if event.attributes:
        size += _attributes_bytes(event.attributes)
    if event.derived:
        size += _attributes_bytes(event.derived)
    return size


def _attributes_bytes(attributes: Attributes) -> int:
    size = _MAP_BYTES
    for name, value in attributes.items():
        size += _ENTRY_BYTES + _text_bytes(name) + (_text_bytes(value) if isinstance(value, str) else 0)
    return size


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else _CHARACTER_BYTES_MAX * len(text)


def check_attributes(attributes: Any) -> Attributes:
    """The same attributes, once it is sure that each can be one; ``BadAttribute`` names the first that cannot."""
    for name, value in attributes.items():
        if not isinstance(name, str) or not name:
            raise BadAttribute(f"an attribute's name must be a non-empty string, not {name!r}")
        if name == TYPES_PROPERTY:
            raise BadAttribute(f"the name {name!r} is taken: it carries the types of the others")
        if not isinstance(value, str | int | float):
            raise BadAttribute(f"attribute {name!r}: a {type(value).__name__} is no string, integer, float or boolean")
        if isinstance(value, int) and not INTEGER_MIN <= value <= INTEGER_MAX:
            raise BadAttribute(f"attribute {name!r}: {value} does not fit into 64 bits")
    return dict(attributes)


def to_properties(attributes: Attributes) -> list[tuple[str, str]]:
    """Typed attributes as user properties, with one more that carries their types."""
    if not attributes:
        return []
    pairs = [(name, _to_text(value)) for name, value in attributes.items()]
    types = {name: _letter(value) for name, value in attributes.items()}
    pairs.append((TYPES_PROPERTY, json.dumps(types, ensure_ascii=False, separators=(",", ":"))))
    return pairs


def _letter(value: Scalar) -> str:
    """By what the value is an instance of, for an enumeration's members are integers or texts, too."""
    if isinstance(value, bool):
        return "b"
    if isinstance(value, int):
        return "i"
    return "f" if isinstance(value, float) else "s"


def _to_text(value: Scalar) -> str:
    """The value as its own type writes it, whatever a subclass makes of that."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    return float.__repr__(value) if isinstance(value, float) else str.__str__(value)


def from_properties(pairs: list[tuple[str, str]]) -> tuple[Attributes, tuple[tuple[str, str], ...]]:
    """Undo ``to_properties``: the typed attributes, and the properties that stay text.

    A types property that is not well formed, or that would lose or spoil anything, types nothing: all pairs stay text.
    """
    types = [value for name, value in pairs if name == TYPES_PROPERTY]
    if len(types) != 1:
        return {}, tuple(pairs)
    try:
        letters = msgspec.json.decode(types[0], type=dict[str, str])
        named = [(name, value) for name, value in pairs if name in letters]
        typed = check_attributes({name: _from_text(value, letters[name]) for name, value in named})
    except (ValueError, KeyError):
        return {}, tuple(pairs)
    if len(typed) != len(named) or not typed:
        return {}, tuple(pairs)
    return typed, tuple((name, value) for name, value in pairs if name not in letters and name != TYPES_PROPERTY)


_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_UNBOUNDED = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _from_text(text: str, letter: str) -> Scalar:
    """The value of a plain literal; ``ValueError`` or ``KeyError`` if it is none, or none of this type."""
    if letter == "s":
        return text
    if letter == "b":
        return {"true": True, "false": False}[text]
    if letter == "i" and _INTEGER.fullmatch(text):
        return int(text)
    if letter == "f" and _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    if letter != "f":
        raise ValueError(text)
    return _UNBOUNDED[text]


def derive_attributes(payload: bytes) -> Attributes:
    """The top-level scalars of a JSON object; nothing of a payload that is none."""
    try:
        document = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    if not isinstance(document, dict):
        return {}
    return {name: value for name, value in document.items() if name not in _NO_NAMES and _is_scalar(value)}


_NO_NAMES = ("", TYPES_PROPERTY)


def _is_scalar(value: object) -> bool:
    if isinstance(value, bool | str):
        return True
    if isinstance(value, int):
        return INTEGER_MIN <= value <= INTEGER_MAX
    return isinstance(value, float) and math.isfinite(value)
