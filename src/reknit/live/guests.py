"""The guest book: each client that comes, goes or is turned away, as a line of the log.

Owns: the words for it, and the bound: strangers choose how often they come, so beyond so many lines in a second the
rest is only counted, and the count is told. Must not know: where a line goes.
"""

from __future__ import annotations

from collections.abc import Callable

from reknit.live.log import Line
from reknit.mqtt.news import News

__all__ = ["LINES_A_SECOND_MAX", "GuestBook"]

LINES_A_SECOND_MAX = 100


class GuestBook:
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._second = 0
        self._told = 0
        self._passed = 0

    def note(self, news: News, peer: str, now: float) -> None:
        """``peer``: the client's address."""
        if int(now) != self._second:
            self._tell_passed()
            self._second, self._told = int(now), 0
        if self._told >= LINES_A_SECOND_MAX:
            self._passed += 1
            return
        self._told += 1
        self._say(_line(news, peer))

    def _tell_passed(self) -> None:
        if self._passed:
            text = f"{self._passed} more clients came, went or were refused in a second than are told one by one"
            self._say(Line(text, "clients", "info", count=self._passed))
        self._passed = 0


def _line(news: News, peer: str) -> Line:
    fields = {"client": news.client, "peer": peer, "user": news.user, "mqtt": news.version, "reason": news.reason}
    known = {name: value for name, value in fields.items() if value}
    who = f"client {news.client}" if news.client else "a client"
    as_user = f" as {news.user}" if news.user else ""
    match news.kind:
        case "connected":
            text = f"{who} connected from {peer}{as_user}, MQTT {news.version}"
        case "disconnected":
            text = f"{who} at {peer} disconnected: {news.reason}"
        case "refused":
            text = f"{who} at {peer} was refused: {news.reason}"
    return Line(text, f"client.{news.kind}", "info", **known)
