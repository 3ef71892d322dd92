"""The clients' door on TCP: one asyncio protocol for a client's connection.

Owns: the sockets of clients and the bound on what one of them may leave unread. Must not know: MQTT; bytes go to the
door and come back from it.

A client that reads too slowly never holds up another one: its bytes wait in its own transport. Beyond the bound the
door is told, and decides what waits and what is dropped; a client that stays there for too long is disconnected and
counted. Nothing here awaits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from reknit.live.address import Address
from reknit.live.outlet import CLOSE_S_MAX, Outlet
from reknit.live.tls import certified_user

if TYPE_CHECKING:
    from reknit.live.driver import Driver

__all__ = ["ClientProtocol"]


class ClientProtocol(asyncio.Protocol):
    """One client's connection."""

    vouched = False
    """Whether another broker has let it in."""

    def __init__(self, driver: Driver) -> None:
        self.conn = driver.next_conn()
        self.transport: asyncio.Transport
        self.write: Callable[[bytes], None]
        self.ended: asyncio.Future[None] = driver.loop.create_future()
        self.remote = self.host = ""
        self.user = ""
        """Whom its certificate names."""
        self._driver = driver
        self._open = False
        self._stall: asyncio.TimerHandle | None = None
        self._upstream: asyncio.Transport | None = None  # to the broker that serves it, if that is another one

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # a loop may have transports of its own kind
        self.write = Outlet(self.transport).write
        self._identify(transport)
        self.transport.set_write_buffer_limits(high=self._driver.bounds.client_buffer_bytes_max)
        self._open = self._driver.client_opened(self)

    def _identify(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        self.remote, self.host = str(peer), ""
        if isinstance(peer, tuple):
            self.remote, self.host = str(Address(*peer[:2])), str(peer[0])
        self.user = certified_user(transport)

    def join(self, upstream: asyncio.Transport) -> None:
        """From now on another broker serves it: all that it says goes there."""
        self._upstream = upstream

    def data_received(self, data: bytes) -> None:
        if not self._open:
            return
        if self._upstream is not None:
            if not self._upstream.is_closing():
                self._upstream.write(data)
            return
        try:
            self._driver.client_received(self, data)
        except Exception:
            self._driver.failed(f"client connection {self.conn} from {self.remote}")
            self.transport.abort()

    def pause_writing(self) -> None:
        self._driver.counters.clients_paused += 1
        if self._upstream is not None and not self._upstream.is_closing():
            self._upstream.pause_reading()
        self._stall = self._driver.loop.call_later(self._driver.bounds.client_stall_s_max, self._stalled)
        # Called from inside a write, so the turn that wrote must come to its end first.
        self._driver.loop.call_soon(self._tell, False)

    def resume_writing(self) -> None:
        self._forget_stall()
        if self._upstream is not None and not self._upstream.is_closing():
            self._upstream.resume_reading()
        self._driver.loop.call_soon(self._tell, True)

    def _tell(self, ready: bool) -> None:
        if self._open:
            self._driver.client_writable(self, ready)

    def _stalled(self) -> None:
        self._driver.counters.clients_too_slow += 1
        self.transport.abort()

    def _forget_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def close(self, *, lingers: bool = False) -> None:
        """Close after what was written has left, and hear nothing more from this client.

        ``lingers``: only once the client has closed its side, or had the time for it.
        """
        self._open = False
        if lingers and self.transport.can_write_eof() and not self.transport.is_closing():
            # What the client still sends is read and dropped. Bytes that come to a closed socket, or lie unread in
            # it, reset the connection, and with it what the client has not read yet: why it ends, or where to go.
            self.hear(True)
            try:
                self.transport.write_eof()
            except OSError:  # the client has reset it, and we have not heard of that yet
                self.transport.abort()
        else:
            self.transport.close()
        self._driver.loop.call_later(CLOSE_S_MAX, self.transport.abort)

    def hear(self, ready: bool) -> None:
        """Read on, or leave what comes in the socket."""
        if self.transport.is_closing():
            return
        if ready and not self.transport.is_reading():
            self.transport.resume_reading()
        elif not ready and self.transport.is_reading():
            self.transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set_result(None)
        self._open = False
        if self._upstream is not None:
            self._upstream.close()
        self._forget_stall()
        self._driver.client_lost(self)
