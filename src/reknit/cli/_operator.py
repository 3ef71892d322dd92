"""How a verb finds brokers and talks to their operators' doors.

Owns: the way from ``--admin`` or the network's file to URLs, and the meaning of an answer. Must not know: what is
asked. A broker that does not answer is a failure that names it, never a silent gap in the output.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import httpx

from reknit.cli._problem import BadInput, Failed
from reknit.live.statefile import NetworkState, read_state

__all__ = ["Operator", "find_state"]

ASK_S_MAX = 5.0
CHANGE_S_MAX = 40.0


def find_state() -> NetworkState:
    """The network of the working directory."""
    return read_state(Path.cwd())


class Operator:
    """The operators' doors of some brokers: those of ``urls``, or all of the network that runs here.

    A context manager: its connections are closed at the end.
    """

    def __init__(self, urls: list[str]) -> None:
        self.urls = [_checked(url) for url in urls] or [broker.admin for broker in find_state().brokers]
        self._http = httpx.Client(timeout=ASK_S_MAX, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def all(self, path: str) -> list[dict[str, Any]]:
        """The answer of each broker."""
        return [self._request("GET", url, path) for url in self.urls]

    def change(self, method: str, url: str, path: str, body: dict[str, str] | None = None) -> dict[str, Any]:
        """Ask for a change; a refusal is a failure with the broker's reason."""
        return self._request(method, url, path, body, CHANGE_S_MAX)

    def _request(
        self, method: str, url: str, path: str, body: dict[str, str] | None = None, wait_s: float = ASK_S_MAX
    ) -> dict[str, Any]:
        try:
            answer = self._http.request(method, url + path, json=body, timeout=wait_s)
            said: dict[str, Any] = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise Failed(f"{url}: no answer from this broker ({error})") from None
        if answer.is_error:
            raise Failed(str(said.get("error", said)))
        return said


def _checked(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise BadInput(f"--admin: {url!r} is no URL (such as http://127.0.0.1:8001)")
    return url.rstrip("/")
