"""Exactly once, wherever the publisher dies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from reknit.client import sending
from reknit.client.line import Door, Line
from reknit.client.sending import Message, Notes, send_once
from reknit.client.taking import Journal, Taker
from reknit.mqtt.packets import Packet
from tests.client.brokers import broker_beside

COUNT = 150
"""More than two chunks."""


class Died(Exception):
    pass


def dying(after: int, before_it: bool) -> Callable[..., None]:
    """``Line.send`` of a process that dies at the n-th time: before anything is sent, or just after."""
    calls = iter(range(1, 1000))
    send = Line.send

    def send_or_die(line: Line, packets: list[Packet]) -> None:
        now = next(calls) == after
        if now and before_it:
            raise Died
        send(line, packets)
        if now:
            raise Died

    return send_or_die


@pytest.mark.parametrize("before_it", [True, False])
def test_every_message_comes_once_wherever_the_publisher_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before_it: bool
) -> None:
    """Its sends: the greeting, and then for each chunk the messages, and their release."""
    with broker_beside() as broker:
        journal = Journal(tmp_path / "journal")
        with Taker(Door("127.0.0.1", broker.mqtt.port, "taker"), "#", "", journal) as taker:
            wanted = []
            for after in range(2, 8):
                messages = [Message(f"t/{after}", str(number).encode(), {"n": number}) for number in range(COUNT)]
                door = Door("127.0.0.1", broker.mqtt.port, f"sender-{after}")
                notes = tmp_path / f"notes-{after}"
                with monkeypatch.context() as patch:
                    patch.setattr(Line, "send", dying(after, before_it))
                    patch.setattr(Line, "__exit__", lambda line, *_: line._socket.close())
                    with pytest.raises(Died):
                        send_once(door, messages, notes)
                send_once(door, messages, notes)
                assert Notes.read(notes) == Notes(COUNT, COUNT)
                assert send_once(door, messages, notes) == 0
                wanted += [(f"t/{after}", number) for number in range(COUNT)]
                while len(journal.events) < len(wanted):
                    assert taker.take(10)
            taker.take(0.3)
            assert [(each.topic, each.attributes["n"]) for each in journal.events] == wanted
            assert [each.payload for each in journal.events] == [str(number).encode() for _, number in wanted]
        journal.close()


def test_the_planted_bug_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a note before the release, what the broker has taken is sent a second time."""
    with broker_beside() as broker:
        journal = Journal(tmp_path / "journal")
        door = Door("127.0.0.1", broker.mqtt.port, "sender")
        with Taker(Door("127.0.0.1", broker.mqtt.port, "taker"), "#", "", journal) as taker:
            with monkeypatch.context() as patch:
                patch.setattr(sending.Notes, "write", lambda notes, path: None)
                patch.setattr(Line, "send", dying(3, before_it=False))
                with pytest.raises(Died):
                    send_once(door, [Message("t")], tmp_path / "notes")
            send_once(door, [Message("t")], tmp_path / "notes")
            while len(journal.events) < 2:
                assert taker.take(10)
        journal.close()
