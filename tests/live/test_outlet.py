"""The way out of a connection: at once where it can be, in order where it cannot."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any, cast

import pytest

from reknit.live.outlet import Outlet


class Held:
    """A transport that holds what it is given."""

    def __init__(self, sock: socket.socket | None) -> None:
        self.sock = sock
        self.waiting = b""
        self.closing = False

    def get_extra_info(self, name: str) -> Any:
        return self.sock if name == "socket" else None

    def get_write_buffer_size(self) -> int:
        return len(self.waiting)

    def is_closing(self) -> bool:
        return self.closing

    def write(self, data: bytes) -> None:
        self.waiting += data


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        one.setblocking(False)
        yield one, other


def outlet_of(transport: Held) -> Outlet:
    return Outlet(cast(Any, transport))


def test_what_the_socket_takes_does_not_wait(ends: tuple[socket.socket, socket.socket]) -> None:
    transport = Held(ends[0])
    outlet_of(transport).write(b"now")
    assert (ends[1].recv(10), transport.waiting) == (b"now", b"")


def test_what_it_does_not_take_waits_and_everything_after_it_too(ends: tuple[socket.socket, socket.socket]) -> None:
    transport = Held(ends[0])
    outlet = outlet_of(transport)
    block = bytes(range(256)) * 20_000
    outlet.write(block)
    assert 0 < len(transport.waiting) < len(block)
    taken = len(block) - len(transport.waiting)
    ends[1].setblocking(False)
    received = b""
    while len(received) < taken:
        received += ends[1].recv(1 << 20)
    assert received + transport.waiting == block
    # The socket has room again, but what waits comes first.
    outlet.write(b"later")
    assert transport.waiting.endswith(b"later")
    with pytest.raises(BlockingIOError):
        ends[1].recv(1)


def test_a_socket_that_is_closing_or_broken_is_left_to_the_transport(ends: tuple[socket.socket, socket.socket]) -> None:
    transport = Held(ends[0])
    transport.closing = True
    outlet_of(transport).write(b"a")
    transport.closing = False
    transport.waiting, first = b"", transport.waiting
    ends[1].close()
    outlet_of(transport).write(b"b")
    assert (first, transport.waiting) == (b"a", b"b")


def test_a_transport_without_a_socket(ends: tuple[socket.socket, socket.socket]) -> None:
    transport = Held(None)
    outlet_of(transport).write(b"a")
    assert transport.waiting == b"a"
