"""What an operator shows at a door that asks for it: a token, or user and password.

Owns: where they are found. Of several the first counts: those in a door's own URL (``http://USER:PASSWORD@HOST:PORT``);
the file of ``--operator-file``, or of the variable ``REKNIT_OPERATOR_FILE``; the variable ``REKNIT_OPERATOR``. There
``USER:PASSWORD`` is what it looks like, and anything without a colon is a token. Must not know: who asks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx

from reknit.cli import OPERATOR_FILE
from reknit.cli._problem import BadInput

__all__ = ["WORD", "find_auth", "without_secrets"]

FILE = "REKNIT_OPERATOR_FILE"
WORD = "REKNIT_OPERATOR"
WORD_BYTES_MAX = 4096


class _Token(httpx.Auth):
    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]  # nothing is sent in
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


def find_auth(environ: Mapping[str, str] = os.environ) -> httpx.Auth | None:
    """None where nothing is given. ``BadInput`` if a file is named that cannot be read, or is empty."""
    path = OPERATOR_FILE.get() or environ.get(FILE, "")
    word = _read(Path(path)) if path else environ.get(WORD, "").strip()
    if not word:
        return None
    user, colon, password = word.partition(":")
    return httpx.BasicAuth(user, password) if colon else _Token(word)


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            word = file.read(WORD_BYTES_MAX).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "this is no UTF-8"
        raise BadInput(f"--operator-file: {path}: {why}") from None
    if not word or "\n" in word:
        raise BadInput(f"--operator-file: {path}: one line is wanted: a token, or USER:PASSWORD")
    return word


def without_secrets(url: str) -> str:
    """The URL for people to read."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
