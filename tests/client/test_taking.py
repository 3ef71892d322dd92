"""A journal that knows what it has, over deaths; and a subscription that fills it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reknit.client.errors import Refused
from reknit.client.line import Door, Line
from reknit.client.sending import Message, send_once
from reknit.client.taking import Journal, Taken, Taker, What
from tests.client.brokers import broker_beside


def test_a_journal_is_what_was_written_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    events = [Taken(What.EVENT, number, number + 10, "t", b"x") for number in (1, 2, 3)]
    journal.add([*events, Taken(What.RELEASED, 3, 12)])
    journal.close()
    path.write_bytes(path.read_bytes() + b"\0\0\0\x40half")
    again = Journal(path)
    assert again.events == events
    assert (list(again.held), again.last) == ([11, 13], 3)
    again.forget(2)
    again.close()
    third = Journal(path)
    assert third.events == events[2:]
    assert (sorted(third.held), third.last) == ([11, 13], 3)
    third.forget(3)
    third.close()
    fourth = Journal(path)
    assert (fourth.events, sorted(fourth.held), fourth.last) == ([], [11, 13], 3)
    fourth.close()


@pytest.mark.parametrize("dies", ["before the journal", "before the answer"])
def test_events_are_taken_once_wherever_the_taker_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: str
) -> None:
    class Died(Exception):
        pass

    def die(*_: object) -> None:
        raise Died

    with broker_beside() as broker:
        own, path = Door("127.0.0.1", broker.mqtt.port, "taker"), tmp_path / "journal"
        sender = Door("127.0.0.1", broker.mqtt.port, "sender")
        messages = [Message("t/1", str(number).encode(), {"x": number}) for number in range(50)]
        journal = Journal(path)
        with monkeypatch.context() as patch, Taker(own, "t/+", "x >= 10", journal) as taker:
            send_once(sender, messages[:30], tmp_path / "first")
            patch.setattr(Line, "__exit__", lambda line, *_: line._socket.close())
            patch.setattr(*(Journal, "add", die) if dies == "before the journal" else (Line, "send", die))
            with pytest.raises(Died):
                taker.take(10)
        journal.close()
        send_once(sender, messages, tmp_path / "second")
        journal = Journal(path)
        with Taker(own, "t/+", "x >= 10", journal) as taker:
            while len(journal.events) < 60:
                assert taker.take(10)
            taker.take(0.3)
        assert [each.attributes["x"] for each in journal.events] == [*range(10, 30), *range(10, 50)]
        assert journal.held == {}
        journal.close()


def test_a_filter_that_the_broker_refuses(tmp_path: Path) -> None:
    with broker_beside() as broker:
        journal = Journal(tmp_path / "journal")
        with pytest.raises(Refused), Taker(Door("127.0.0.1", broker.mqtt.port, "t"), "a", "x >>> 1", journal):
            pass
        journal.close()
