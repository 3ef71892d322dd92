"""How a verb finds brokers and talks to their operators' doors.

Owns: the way from ``--admin`` or the network's file to doors, and the meaning of an answer. Must not know: what is
asked. All doors are asked at once. A broker that does not answer is named, and never a silent gap in the output.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx
import msgspec

from reknit.cli._credentials import WORD, find_auth, without_secrets
from reknit.cli._problem import BadInput, Failed, Unanswered
from reknit.live.statefile import BrokerState, NetworkState, read_state

__all__ = ["Answer", "Operator", "find_state"]

ASK_S_MAX = 5.0
CHANGE_S_MAX = 40.0
ADD_S_MAX = 60.0
GONE_S_MAX = 5.0
GONE_POLL_S = 0.02
ASKED_AT_ONCE_MAX = 32


def find_state() -> NetworkState:
    """The network of the working directory."""
    return read_state(Path.cwd())


@dataclass(frozen=True, slots=True)
class _Door:
    url: str
    name: str = ""
    """Empty where only the URL is known."""

    def __str__(self) -> str:
        shown = without_secrets(self.url)
        return f"{self.name} ({shown})" if self.name else shown


@dataclass(frozen=True, slots=True)
class Answer:
    """What came from one door: a document, or the one line that says why there is none."""

    name: str
    said: dict[str, Any] | None
    error: str = ""


class Operator:
    """The operators' doors of some brokers: those of ``urls``, or all of the network that runs here.

    A context manager: its connections are closed at the end.
    """

    def __init__(self, urls: list[str]) -> None:
        found = [_Door(_checked(url)) for url in urls]
        self._here = not urls  # the doors are those of the network of this directory
        self._doors = found or [_Door(broker.admin, broker.name) for broker in find_state().brokers]
        self._named = {door.name: door for door in self._doors if door.name}
        self.added: list[BrokerState] = []
        self._http = httpx.Client(timeout=ASK_S_MAX, trust_env=False, auth=find_auth())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    @property
    def names(self) -> list[str]:
        """Those that are known."""
        return list(self._named)

    def ask(self, path: str) -> list[Answer]:
        """The answer of each broker, or that it gave none, in the order of the doors."""
        with ThreadPoolExecutor(min(len(self._doors), ASKED_AT_ONCE_MAX)) as pool:
            return list(pool.map(lambda door: self._answer(door, path), self._doors))

    def all(self, path: str) -> list[dict[str, Any]]:
        """The answer of each broker; a failure names all that gave none."""
        answers = self.ask(path)
        if errors := "; ".join(each.error for each in answers if each.said is None):
            raise Failed(errors)
        return [each.said for each in answers if each.said is not None]

    def get(self, name: str, path: str) -> dict[str, Any]:
        """The answer of this broker, whose door is known or has been asked before."""
        return self._request("GET", self._named[name], path)

    def change(self, method: str, path: str, body: dict[str, Any] | None = None, at: str = "") -> dict[str, Any]:
        """Ask broker ``at``, or the first door, for a change; a refusal is a failure with the broker's reason."""
        door = self._named[at] if at else self._doors[0]
        return self._request(method, door, path, body, CHANGE_S_MAX)

    def forget(self, name: str) -> None:
        """It has left: there is nobody to ask any more. Wait until the network's file knows that, too."""
        self._doors.remove(self._named.pop(name))
        until = time.monotonic() + GONE_S_MAX
        while self._here and time.monotonic() < until and any(each.name == name for each in find_state().brokers):
            time.sleep(GONE_POLL_S)

    def add_broker(self, name: str, link: str, of: str = "") -> BrokerState:
        """Ask whoever looks after the network of this directory for a broker more; from then on it is asked, too.

        ``of``: the larger change that this is a step of.
        """
        steward = _Door(find_state().door, "the process of reknit up")
        said = self._request("POST", steward, "/brokers", {"name": name, "link": link, "of": of}, ADD_S_MAX)
        added = msgspec.convert(said, BrokerState)
        door = self._named[name] = _Door(added.admin, name)
        self._doors.append(door)
        self.added.append(added)
        return added

    def _answer(self, door: _Door, path: str) -> Answer:
        try:
            said = self._request("GET", door, path)
        except Failed as error:
            return Answer(door.name, None, str(error))
        name = str(said.get("name", door.name))
        self._named[name] = door
        return Answer(name, said)

    def _request(
        self, method: str, door: _Door, path: str, body: dict[str, Any] | None = None, wait_s: float = ASK_S_MAX
    ) -> dict[str, Any]:
        try:
            answer = self._http.request(method, door.url + path, json=body, timeout=wait_s)
            said = answer.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise Unanswered(f"{door}: no answer from this broker ({error})") from None
        if not isinstance(said, dict):
            raise Failed(f"{door}: no operators' door answers there")
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            raise Failed(f"{door}: {said.get('error', said)}; see --operator-file, or {WORD} in the environment")
        if answer.is_error:
            raise Failed(str(said.get("error", said)))
        return said


def _checked(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise BadInput(f"--admin: {url!r} is no URL (such as http://127.0.0.1:8001)")
    return url.rstrip("/")
