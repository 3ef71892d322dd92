"""What is wrong with a file, in words: the key, what is wanted there, and what else there could be.

Owns: the one line that is made of what the reader of a struct says. Must not know: which files there are.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import inspect

__all__ = ["explain"]

_ERROR = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`", re.DOTALL)
_BOUND = re.compile(r"Expected `(?P<kind>int|float)` (?P<bound>>=|<=|>|<) (?P<limit>\S+)")
_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\[\.\.\.\]|\[\d+\]")
_KINDS = {"int": "a whole number", "float": "a number"}
_BOUNDS = {">=": "of at least", "<=": "of at most", ">": "above", "<": "below"}


def explain(error: str, root: type) -> str:
    """``error``: msgspec's, about a document of type ``root``."""
    found = _ERROR.fullmatch(error)
    what, path = (found["what"], found["path"] or "") if found else (error, "")
    here = _type_at(root, path)
    where = path.lstrip(".").replace("[...]", "") or "top level"
    if unknown := _UNKNOWN.fullmatch(what):
        return f"{where}: unknown key {unknown['key']!r}; allowed: {', '.join(sorted(_keys(here)))}"
    if isinstance(here, inspect.LiteralType):
        return f"{where}: {what}; allowed: {', '.join(map(str, here.values))}"
    if bound := _BOUND.fullmatch(what):
        return f"{where}: {_KINDS[bound['kind']]} {_BOUNDS[bound['bound']]} {bound['limit']} is wanted"
    return f"{where}: {what}"


def _type_at(root: type, path: str) -> inspect.Type | None:
    here: inspect.Type | None = inspect.type_info(root)
    for step in _STEP.finditer(path):
        if isinstance(here, inspect.StructType):
            here = next((field.type for field in here.fields if field.encode_name == step["name"]), None)
        elif isinstance(here, inspect.ListType | inspect.VarTupleType):
            here = here.item_type
        else:
            return None
    return here


def _keys(kind: Any) -> list[str]:
    return [field.encode_name for field in kind.fields] if isinstance(kind, inspect.StructType) else []
