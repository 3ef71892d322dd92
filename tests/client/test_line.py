"""A connection without a loop, to a live broker."""

from __future__ import annotations

import pytest

from reknit.client.errors import ConnectFailed, Disconnected
from reknit.client.line import Door, Line
from reknit.mqtt.packets import Pingresp, Subscribe
from tests.client.brokers import broker_beside


def test_a_session_is_there_again_and_answers_come() -> None:
    with broker_beside() as broker:
        door = Door("127.0.0.1", broker.mqtt.port, "line")
        with Line(door) as line:
            assert not line.resumed
            line.ping()
            assert isinstance(line.receive(10)[0], Pingresp)
            assert line.receive(0.01) == []
        with Line(door) as line:
            assert line.resumed
            assert line.window > 0
            line.send([Subscribe(1, ())])  # which asks for nothing, and that is an error
            with pytest.raises(Disconnected):
                line.receive(10)


def test_nobody_there() -> None:
    with pytest.raises(ConnectFailed, match=r"127\.0\.0\.1:1"), Line(Door("127.0.0.1", 1, "line")):
        pass
