"""The words of a version, as text: whoever changes one sees it here, and decides about the version.

``REKNIT_STORIES=write`` writes the text anew. Before that: can a broker of the old version read the new word, and do
the right thing without what is new in it? If not, ``VERSION`` has to rise.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec

from reknit.model.event import Event
from reknit.wire.codec import VERSION
from reknit.wire.marks import Marks
from reknit.wire.messages import Direct, Frame, Message

WORDS = Path(__file__).parent / "words.txt"


def _structs(kind: Any, found: dict[str, Any]) -> None:
    """It, and whatever stands in its fields, each once."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__name__ not in found:
        found[kind.__name__] = kind
        for each in msgspec.structs.fields(kind):
            _structs(each.type, found)
    for each in get_args(kind):
        _structs(each, found)


def _lines() -> Iterator[str]:
    yield f"version {VERSION}"
    found: dict[str, Any] = {}
    for kind in (*get_args(Frame), *get_args(Message), *get_args(Direct), Event, Marks):
        _structs(kind, found)
    for name in sorted(found):
        info = found[name]
        tag = info.__struct_config__.tag
        fields = [f"{each.name}{'' if each.required else '?'}" for each in msgspec.structs.fields(info)]
        yield f"{name}{'' if tag is None else f' {tag}'}: {', '.join(fields)}"


def test_the_words_are_those_of_this_version() -> None:
    said = "\n".join(_lines()) + "\n"
    if os.environ.get("REKNIT_STORIES") == "write":
        WORDS.write_text(said)
    assert WORDS.read_text() == said
