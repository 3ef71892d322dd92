"""What ``sub`` and ``rr`` print of a message.

Owns: the choice between payload, ``-v``, ``-F`` and ``--json``, and the end of a line. Must not know: where
messages come from.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reknit.cli._mosquitto.formats import NotJson, Shown, compile_format
from reknit.cli._problem import BadInput

if TYPE_CHECKING:
    from reknit.client import Event

__all__ = ["Printer"]


@dataclass(frozen=True, slots=True)
class Printer:
    verbose: bool = False
    form: str | None = None
    """Of ``-F``."""
    pretty: bool = False
    as_json: bool = False
    no_end: bool = False
    """Without an end of line (``-N``)."""

    def compiled(self) -> Callable[[Event], None]:
        """Prints one message on standard output, at once. ``BadInput`` if the format is none."""
        if self.as_json and (self.verbose or self.form is not None):
            raise BadInput("--json: leave out -v and -F")
        shown = self._formatted(self.form) if self.form is not None else self._simple()
        end = b"" if self.no_end else b"\n"
        # Of no payload there is nothing to print, not even an end of line, unless the topic makes it a line.
        silent = not (self.as_json or self.form is not None) and (self.no_end or not self.verbose)

        def write(event: Event) -> None:
            try:
                line = shown(event)
            except NotJson as error:
                line = b""
                sys.stderr.write(f"reknit: {error}\n")
            if silent and not event.payload:
                return
            sys.stdout.buffer.write(line + end)
            sys.stdout.buffer.flush()

        return write

    def _simple(self) -> Callable[[Event], bytes]:
        if self.as_json:
            return _json_line
        if self.verbose:
            return lambda event: event.topic.encode() + b" " + (event.payload or b"(null)")
        return lambda event: event.payload

    def _formatted(self, form: str) -> Callable[[Event], bytes]:
        part = compile_format(form)
        return lambda event: part(Shown(event, time.time_ns(), self.pretty))


def _json_line(event: Event) -> bytes:
    """The payload as text where it is some, else in base64 under another key."""
    line: dict[str, Any] = {"topic": event.topic, "attributes": dict(event.attributes), "qos": event.qos}
    try:
        line["payload"] = event.payload.decode()
    except UnicodeDecodeError:
        line["payload_base64"] = base64.b64encode(event.payload).decode()
    return json.dumps(line, ensure_ascii=False).encode()
