"""``-D COMMAND NAME VALUE``, where a user property has two values: an option of three or four words.

Owns: reading such options, and which packets have properties here. Must not know: what a property does. The parser of
the command line wants a fixed number of words, so before it sees them each such option is made one word, in JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from reknit.cli._problem import BadInput

if TYPE_CHECKING:
    from reknit.client.properties import Pairs, Value

__all__ = ["Command", "read_properties"]

_FLAGS = ("-D", "--property")
_COMMANDS = ("connect", "publish", "subscribe", "unsubscribe", "disconnect", "will")


class Command(TyperCommand):
    """A verb that has ``-D``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _joined(args))


def _joined(words: Sequence[str]) -> list[str]:
    made: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        made.append(word)
        if word == "--":
            return made + rest
        if word in _FLAGS:
            size = 4 if rest[1:2] == ["user-property"] else 3
            taken, rest = rest[:size], rest[size:]
            made.append(json.dumps(taken))
    return made


def read_properties(texts: Sequence[str]) -> dict[str, Pairs]:
    """By command, in their order. ``BadInput`` names the option that is none."""
    found: dict[str, list[tuple[str, Value]]] = {}
    for text in texts:
        words = _words(text)
        command, name = words[0], words[1]
        if command not in _COMMANDS:
            raise BadInput(f"-D {command}: there are {', '.join(_COMMANDS)}")
        found.setdefault(command, []).append((name, _value(command, name, words[2:])))
    return {command: tuple(pairs) for command, pairs in found.items()}


def _words(text: str) -> list[str]:
    try:
        words: Any = json.loads(text)
    except ValueError:
        words = [text]
    if not isinstance(words, list) or len(words) < (4 if words[1:2] == ["user-property"] else 3):
        raise BadInput("-D takes COMMAND NAME VALUE, or COMMAND user-property NAME VALUE")
    return [str(each) for each in words]


def _value(command: str, name: str, words: list[str]) -> Value:
    from reknit.client.properties import NAMES

    kind = NAMES.get(name)
    if kind is None:
        raise BadInput(f"-D {command} {name}: no property; there are {', '.join(NAMES)}")
    if kind == "pair":
        return words[0], words[1]
    if kind == "text":
        return words[0]
    if kind == "binary":
        return words[0].encode(errors="surrogateescape")
    try:
        return int(words[0])
    except ValueError:
        raise BadInput(f"-D {command} {name}: {words[0]!r} is no number") from None
