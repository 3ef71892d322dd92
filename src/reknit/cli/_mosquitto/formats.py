r"""``-F``: what is printed for each message.

A format is text with three kinds of marks: ``%`` and a letter for a part of the message, with flag and widths as in
printf; ``@`` and a letter for strftime; ``\`` and a letter for a character that is hard to type. It is read once, into
parts, and each part is a function of the message and the time.

Owns: the marks, as mosquitto_sub 2.0 prints them. Three of its habits are kept though its manual does not have them:
a width also cuts ``%p``, ``%x`` then shows half as many bytes as fit, and ``%R`` of no response topic is not padded.
Must not know: where messages come from.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from reknit.cli._mosquitto.json_text import NotJson, json_line
from reknit.cli._problem import BadInput

if TYPE_CHECKING:
    from reknit.client import Event

__all__ = ["NotJson", "Shown", "compile_format"]

NS = 1_000_000_000

_MARK = re.compile(r"%(?P<flags>[-0]*)(?P<width>\d*)(?:\.(?P<most>\d*))?(?P<letter>.)?", re.DOTALL)
_ESCAPES = {"\\": b"\\", "0": b"\0", "a": b"\a", "e": b"\x1b", "n": b"\n", "r": b"\r", "t": b"\t", "v": b"\v"}
_INCOMPLETE = "-F: the format ends within a mark"


@dataclass(frozen=True, slots=True)
class Shown:
    """A message, and the moment that it is printed for."""

    event: Event
    now_ns: int
    pretty: bool = False

    def property(self, name: str) -> str:
        """The first of this name as text; empty if there is none."""
        found = next((value for key, value in self.event.properties if key == name), "")
        return found.decode(errors="surrogateescape") if isinstance(found, bytes) else str(found)


Part: TypeAlias = Callable[[Shown], bytes]


def compile_format(text: str) -> Part:
    """``BadInput`` if it is none."""
    parts = list(_parts(text))
    return lambda shown: b"".join(part(shown) for part in parts)


def _parts(text: str) -> Iterable[Part]:
    place = 0
    while place < len(text):
        letter = text[place]
        if letter == "%":
            found = _MARK.match(text, place)
            assert found is not None  # every part of a mark but the first letter may be missing
            yield _percent(found)
            place = found.end()
        elif letter in "@\\":
            if place + 1 == len(text):
                raise BadInput(_INCOMPLETE)
            yield _time(text[place + 1]) if letter == "@" else _escape(text[place + 1])
            place += 2
        else:
            yield _constant(letter.encode(errors="surrogateescape"))
            place += 1


def _constant(piece: bytes) -> Part:
    return lambda _: piece


def _escape(letter: str) -> Part:
    if letter not in _ESCAPES:
        raise BadInput(f"-F: \\{letter} stands for nothing; known: {' '.join(_ESCAPES)}")
    return _constant(_ESCAPES[letter])


def _time(letter: str) -> Part:
    if letter == "@":
        return _constant(b"@")
    if letter == "N":
        return lambda shown: b"%09d" % (shown.now_ns % NS)
    return lambda shown: time.strftime(f"%{letter}", time.localtime(shown.now_ns // NS)).encode()


@dataclass(frozen=True, slots=True)
class _Field:
    left: bool
    zeros: bool
    width: int
    most: int | None

    def pad(self, text: bytes, zeros: bool) -> bytes:
        if self.left:
            return text.ljust(self.width)
        return text.rjust(self.width, b"0" if zeros and self.zeros else b" ")

    def word(self, text: str) -> bytes:
        return self.pad(text.encode(errors="surrogateescape")[: self.most], zeros=False)

    def number(self, text: str) -> bytes:
        return self.pad(text.encode(), zeros=True)

    def payload(self, data: bytes) -> bytes:
        return self.pad(data[: self.width] if self.width else data, zeros=True)

    def hexadecimal(self, data: bytes, upper: bool) -> bytes:
        shown = data[: min(len(data), self.width) // 2] if self.width else data
        text = shown.hex()
        return self.pad((text.upper() if upper else text).encode(), zeros=True)


_WORDS: Mapping[str, Callable[[Shown], str]] = {
    "C": lambda shown: shown.property("content-type"),
    "I": lambda shown: time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(shown.now_ns // NS)),
    "R": lambda shown: shown.property("response-topic"),
    "t": lambda shown: shown.event.topic,
}
_NUMBERS: Mapping[str, Callable[[Shown], str]] = {
    "A": lambda shown: shown.property("topic-alias"),
    "E": lambda shown: shown.property("message-expiry-interval"),
    "F": lambda shown: shown.property("payload-format-indicator"),
    "S": lambda shown: shown.property("subscription-identifier"),
    "l": lambda shown: str(len(shown.event.payload)),
    "m": lambda shown: str(shown.event.packet_id),
}
_PLAIN: Mapping[str, Part] = {
    "%": lambda _: b"%",
    "D": lambda shown: shown.property("correlation-data").encode(errors="surrogateescape"),
    "P": lambda shown: _user_properties(shown.event),
    "U": lambda shown: b"%d.%09d" % divmod(shown.now_ns, NS),
    "j": lambda shown: json_line(shown.event, shown.now_ns, pretty=shown.pretty, quoted=True),
    "J": lambda shown: json_line(shown.event, shown.now_ns, pretty=shown.pretty, quoted=False),
    "q": lambda shown: str(shown.event.qos).encode(),
    "r": lambda shown: str(int(shown.event.retain)).encode(),
}


def _percent(found: re.Match[str]) -> Part:
    letter = found["letter"]
    if letter is None:
        raise BadInput(_INCOMPLETE)
    most = None if found["most"] is None else int(found["most"] or 0)
    field = _Field("-" in found["flags"], "0" in found["flags"], int(found["width"] or 0), most)
    if letter in _PLAIN:
        return _PLAIN[letter]
    if letter in _WORDS:
        word = _WORDS[letter]
        return lambda shown: field.word(text) if (text := word(shown)) or letter != "R" else b""
    if letter in _NUMBERS:
        number = _NUMBERS[letter]
        return lambda shown: field.number(number(shown))
    if letter == "p":
        return lambda shown: field.payload(shown.event.payload)
    if letter in "xX":
        return lambda shown: field.hexadecimal(shown.event.payload, letter == "X")
    known = "".join(sorted({*_PLAIN, *_WORDS, *_NUMBERS, *"pxX"}))
    raise BadInput(f"-F: %{letter} stands for nothing; known: {' '.join(known)}")


def _user_properties(event: Event) -> bytes:
    pairs = [value for name, value in event.properties if name == "user-property" and isinstance(value, tuple)]
    return " ".join(f"{name}:{value}" for name, value in pairs).encode()
