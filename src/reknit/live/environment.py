"""Settings from the environment: ``REKNIT__SECTION__KEY``, over the file and under the flags.

Owns: which variables are settings, and what each becomes. Must not know: what a setting does. Two underscores stand
between parts of a name, since names have single ones: ``REKNIT__MQTT__RECEIVE_MAXIMUM=30`` is ``receive_maximum = 30``
under ``[mqtt]``. A value has the type of its key; a list is in JSON. One that fits no key is an error, as in a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import inspect

from reknit.live.errors import ConfigError

__all__ = ["PREFIX", "overlay", "settings_in"]

PREFIX = "REKNIT__"
_SEPARATOR = "__"
_SCALARS: dict[type, type] = {
    inspect.BoolType: bool,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.StrType: str,
    inspect.LiteralType: str,
}


def settings_in(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that are settings, in the order of their names."""
    return {name: environ[name] for name in sorted(environ) if name.startswith(PREFIX)}


def overlay(document: dict[str, Any], environ: Mapping[str, str], kind: type) -> dict[str, str]:
    """Put what the environment says into a file's document; by key, the variable that has set it.

    ``kind``: the type of the file. ``ConfigError`` names the variable.
    """
    came_from: dict[str, str] = {}
    for name, text in settings_in(environ).items():
        path = [part.lower() for part in name.removeprefix(PREFIX).split(_SEPARATOR)]
        value = _value(name, text, _type_at(name, path, kind))
        _put(document, path, value)
        came_from[".".join(path)] = name
    return came_from


def _type_at(name: str, path: list[str], kind: type) -> inspect.Type:
    here: inspect.Type = inspect.type_info(kind)
    for part in path:
        if isinstance(here, inspect.DictType):
            here = here.value_type
            continue
        found = {field.encode_name: field.type for field in here.fields} if isinstance(here, inspect.StructType) else {}
        if part not in found:
            raise ConfigError(f"{name}: there is no key {part!r}" + (f"; known: {', '.join(found)}" if found else ""))
        here = found[part]
    return here


def _value(name: str, text: str, kind: inspect.Type) -> Any:
    if isinstance(kind, inspect.StructType | inspect.DictType):
        raise ConfigError(f"{name}: a section, and no key; go on with {_SEPARATOR}KEY")
    scalar = _SCALARS.get(type(kind))
    try:
        return msgspec.json.decode(text) if scalar is None else msgspec.convert(text, scalar, strict=False)
    except msgspec.MsgspecError:
        what = "JSON" if scalar is None else f"of type {scalar.__name__}"
        raise ConfigError(f"{name}: {text!r} is not {what}") from None


def _put(document: dict[str, Any], path: list[str], value: Any) -> None:
    *sections, key = path
    here = document
    for section in sections:
        here = here.setdefault(section, {})
        if not isinstance(here, dict):  # the file has something else there, which is told when the whole is read
            return
    here[key] = value
