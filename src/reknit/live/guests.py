"""The guest book: each client that comes, goes, is turned away or has a full queue, as a line of the log.

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
            what = "came, went, were refused or had a full queue"
            text = f"{self._passed} more clients {what} in a second than are told one by one"
            self._say(Line(text, "clients", "info", count=self._passed))
        self._passed = 0


def _of_drops(news: News) -> Line:
    """One line when a queue begins to drop, and one when that is over: as many as there were, nobody could read."""
    who = f"client {news.client}"
    fields = {"client": news.client, "user": news.user, "reason": news.reason}
    known = {name: value for name, value in fields.items() if value}
    if news.kind == "dropping":
        text = f"the queue of {who} is full: messages for it are dropped until it has taken what waits"
        return Line(text, "client.dropping", "warning", **known)
    text = f"the queue of {who} was full, and {news.count} messages for it were dropped"
    return Line(text, "client.dropped", "warning", count=news.count, **known)


def _line(news: News, peer: str) -> Line:
    if news.count:
        return _of_drops(news)
    fields = {"client": news.client, "peer": peer, "user": news.user, "mqtt": news.version, "reason": news.reason}
    known = {name: value for name, value in fields.items() if value}
    who = f"client {news.client}" if news.client else "a client"
    as_user = f" as {news.user}" if news.user else ""
    match news.kind:
        case "connected":
            text = f"{who} connected from {peer}{as_user}, MQTT {news.version}"
        case "disconnected":
            text = f"{who} at {peer} disconnected: {news.reason}"
        case _:
            text = f"{who} at {peer} was refused: {news.reason}"
    return Line(text, f"client.{news.kind}", "info", **known)
