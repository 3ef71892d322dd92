"""The load generator counts what arrives, and says so when something does not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bench import generator
from bench.generator import Load, LoadFailed, offer
from bench.peers import Peer, relay

SHORT = Load(0, 0, warm_s=0.02, measure_s=0.05)


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    with relay() as running:
        yield running


@pytest.mark.parametrize("changes", [{}, {"window": 1}, {"subscribers": 3}, {"publishers": 3}])
def test_all_that_is_sent_is_received(peer: Peer, changes: dict[str, int]) -> None:
    load = replace(SHORT, publish_port=peer.publish_port, subscribe_port=peer.subscribe_port, **changes)  # type: ignore[arg-type]
    result = offer(load)
    assert result.sent > 0
    assert result.rate > 0
    assert result.received == result.sent * load.subscribers


def scripted(*answers: bytes) -> int:
    """A broker for one connection that gives these answers, one for each read, and then closes. Returns its port."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        link, _ = server.accept()
        with server, link:
            for answer in answers:
                link.recv(1000)
                link.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    port: int = server.getsockname()[1]
    return port


@pytest.mark.parametrize("answers", [(b"\x20\x02\x00\x05",), (b"\x20\x02\x00\x00", b"\x90\x03\x00\x01\x80"), ()])
def test_a_refusal_is_told(answers: tuple[bytes, ...]) -> None:
    port = scripted(*answers)
    with pytest.raises((LoadFailed, ConnectionError)):
        offer(replace(SHORT, publish_port=port, subscribe_port=port))


def test_a_loss_is_told(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "SILENCE_S_MAX", 1.0)
    monkeypatch.setattr(generator, "_await_route", lambda *_: None)
    # The relay takes a message that begins like a DISCONNECT for one, and closes: nothing arrives any more.
    monkeypatch.setattr(generator, "_publish", lambda _: b"\xe0" + bytes(113))
    with pytest.raises((LoadFailed, ConnectionError)):
        offer(replace(SHORT, publish_port=peer.publish_port, subscribe_port=peer.subscribe_port))
