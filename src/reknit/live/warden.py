"""The warden of the operators' door, where that can be reached from other machines: nobody comes in without a word.

The word is a bearer token, or the user and password of an operator (see ``guard``). Two paths need none, since whoever
watches over processes has none to give: ``/healthz``, and ``/readyz``, which says *yes* or *no* to strangers, and not
why.

Owns: what a request brings along, and the answer to one that brings nothing good. Must not know: what is asked for, or
how passwords are kept.
"""

from __future__ import annotations

import base64
import binascii

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from reknit.live.address import Address
from reknit.live.counters import Counters
from reknit.live.errors import ConfigError
from reknit.live.guard import Guard, is_loopback

__all__ = ["STRANGER", "Warden", "check_operators"]

STRANGER = "reknit.stranger"
"""In a request's scope: whoever asks has not said who he is."""
CHECKS_MAX = 8
"""Passwords of operators that wait to be checked; beyond it a request is sent away, so that clients get their turn."""
_OPEN = ("/healthz", "/readyz")


def check_operators(at: Address, guard: Guard, who: str) -> None:
    """``ConfigError`` if this door can be reached from other machines and nobody could be told apart there."""
    if not is_loopback(at.host) and not guard.knows_operators:
        raise ConfigError(
            f"{who}: admin {at}: anybody could change the network from other machines; set operators or operator_token "
            "under [access], or listen on 127.0.0.1"
        )


class Warden:
    """Stands before the app; ``CHECKS_MAX`` bounds what strangers can make it do."""

    def __init__(self, app: ASGIApp, guard: Guard, counters: Counters) -> None:
        self._app = app
        self._guard = guard
        self._counters = counters
        self._checking = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        word = dict(scope["headers"]).get(b"authorization", b"")
        if self._checking >= CHECKS_MAX:
            await _refuse(send, 503, "too many passwords are being checked", ((b"retry-after", b"1"),))
        elif await self._knows(word):
            await self._app(scope, receive, send)
        elif scope["path"] in _OPEN and not word:
            await self._app({**scope, STRANGER: True}, receive, send)
        else:
            self._counters.admin_refused += 1
            asked = ((b"www-authenticate", b'Basic realm="reknit", charset="UTF-8"'), (b"www-authenticate", b"Bearer"))
            await _refuse(send, 401, "an operator's token, or user and password, is needed here", asked)

    async def _knows(self, word: bytes) -> bool:
        kind, _, given = word.strip().partition(b" ")
        if kind.lower() == b"bearer":
            return self._guard.is_token(given.strip())
        if kind.lower() != b"basic":
            return False
        self._checking += 1
        try:
            return await self._guard.is_operator(*_user_and_password(given.strip()))
        finally:
            self._checking -= 1


def _user_and_password(given: bytes) -> tuple[str, bytes]:
    """Both empty where nothing can be made of it."""
    try:
        user, colon, password = base64.b64decode(given, validate=True).partition(b":")
        return (user.decode(), password) if colon else ("", b"")
    except (binascii.Error, UnicodeDecodeError):
        return "", b""


async def _refuse(send: Send, status: int, why: str, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    body = msgspec.json.encode({"error": why})
    about = ((b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": [*about, *headers]})
    await send({"type": "http.response.body", "body": body})
