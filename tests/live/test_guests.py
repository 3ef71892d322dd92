"""The guest book: strangers choose how often they come, and not how much is written."""

from __future__ import annotations

from reknit.live.guests import LINES_A_SECOND_MAX, GuestBook
from reknit.mqtt.news import News


def test_the_words() -> None:
    said: list[str] = []
    book = GuestBook(said.append)
    book.note(News("connected", 1, "c", "ann", "5.0"), "1.2.3.4", 0.0)
    book.note(News("disconnected", 1, "c", "ann", "5.0", "KEEP_ALIVE_TIMEOUT"), "1.2.3.4", 0.1)
    book.note(News("refused", 2, reason="NO_CONNECT"), "1.2.3.4", 0.2)
    assert said == [
        "client c connected from 1.2.3.4 as ann, MQTT 5.0",
        "client c at 1.2.3.4 disconnected: KEEP_ALIVE_TIMEOUT",
        "a client at 1.2.3.4 was refused: NO_CONNECT",
    ]


def test_beyond_the_bound_they_are_counted() -> None:
    said: list[str] = []
    book = GuestBook(said.append)
    for _ in range(LINES_A_SECOND_MAX + 7):
        book.note(News("refused", 2, reason="NO_CONNECT"), "somewhere", 5.3)
    assert len(said) == LINES_A_SECOND_MAX
    book.note(News("refused", 2, reason="NO_CONNECT"), "somewhere", 6.1)
    assert said[-2].startswith("7 more clients came, went or were refused")
    assert len(said) == LINES_A_SECOND_MAX + 2
