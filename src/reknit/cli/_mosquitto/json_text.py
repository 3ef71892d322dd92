"""A message as JSON, with the keys and in the manner of mosquitto_sub: ``%j`` and ``%J``.

Owns: the keys, their order, and how a value is written: bytes that are no UTF-8 are passed on, a payload ends at a NUL,
numbers are doubles. Must not know: formats around it.
"""

from __future__ import annotations

import json
import math
import re
import time
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from reknit.client import Event

__all__ = ["NotJson", "json_line"]

NS = 1_000_000_000

_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}

Members: TypeAlias = list[tuple[str, Any]]
"""An object: names may come twice."""


class NotJson(ValueError):
    """A payload that was to be JSON, and is none."""


def json_line(event: Event, now_ns: int, *, pretty: bool, quoted: bool) -> bytes:
    """``quoted``: the payload as a text; else as what it says, ``NotJson`` if that is nothing."""
    seconds, rest = divmod(now_ns, NS)
    moment = time.localtime(seconds)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", moment) + f".{rest // 1000:06d}Z" + time.strftime("%z", moment)
    members: Members = [("tst", stamp), ("topic", event.topic), ("qos", event.qos), ("retain", int(event.retain))]
    members.append(("payloadlen", len(event.payload)))
    if event.qos:
        members.append(("mid", event.packet_id))
    if properties := _properties(event):
        members.append(("properties", properties))
    members.append(("payload", _payload(event, quoted)))
    return _Writer(pretty).write(members, 0).encode(errors="surrogateescape")


def _properties(event: Event) -> Members:
    members: Members = [(name, _text(value)) for name, value in event.properties if name != "user-property"]
    if user := [value for name, value in event.properties if name == "user-property"]:
        members.append(("user-properties", list(user)))
    return members


def _text(value: Any) -> Any:
    return value.partition(b"\0")[0].decode(errors="surrogateescape") if isinstance(value, bytes) else value


def _payload(event: Event, quoted: bool) -> Any:
    if not event.payload:
        return None
    if quoted:
        return _text(event.payload)
    try:
        return json.loads(event.payload, object_pairs_hook=_Object)
    except (ValueError, RecursionError):
        raise NotJson(f"Message payload is not valid JSON on topic {event.topic}") from None


class _Object(list[tuple[str, Any]]):
    """An object of somebody's payload."""


class _Writer:
    def __init__(self, pretty: bool) -> None:
        self._pretty = pretty

    def write(self, value: Any, depth: int) -> str:
        if isinstance(value, str):
            return _string(value)
        if value is None or isinstance(value, bool):
            return json.dumps(value)
        if isinstance(value, int | float):
            return _number(value)
        if isinstance(value, list) and (isinstance(value, _Object) or (value and isinstance(value[0], tuple))):
            return self._object(value, depth + 1)
        comma = ", " if self._pretty else ","
        return "[" + comma.join(self.write(each, depth + 1) for each in value) + "]"

    def _object(self, members: Members, depth: int) -> str:
        colon = ":\t" if self._pretty else ":"
        lines = [_string(name) + colon + self.write(value, depth) for name, value in members]
        if not self._pretty or not lines:
            return "{" + ",".join(lines) + ("\n" + "\t" * (depth - 1) if self._pretty else "") + "}"
        return "{\n" + ",\n".join("\t" * depth + line for line in lines) + "\n" + "\t" * (depth - 1) + "}"


def _string(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda found: _SHORT.get(found[0], f"\\u{ord(found[0]):04x}"), text) + '"'


def _number(value: float) -> str:
    try:
        number = float(value)
    except OverflowError:
        return "null"
    if not math.isfinite(number):
        return "null"
    short = f"{number:.15g}"
    return short if float(short) == number else f"{number:.17g}"
