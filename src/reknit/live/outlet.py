"""The way out of a connection: straight to the socket while nothing waits, else behind what waits.

Owns: one write. Must not know: who writes what.

An event loop may keep what is written until its callbacks have returned. With one message in flight that is the time
in which the shell looks after its alarms, and the receiver could have it already. So while the transport holds nothing
the bytes go to the socket at once, and only what the socket does not take is left to the transport. The order is kept,
since the short way is closed as long as anything waits.
"""

from __future__ import annotations

import asyncio
import os

__all__ = ["CLOSE_S_MAX", "Outlet"]

CLOSE_S_MAX = 1.0
"""How long a connection that is being closed may take to send what it still holds."""


class Outlet:
    """Writes to one transport, of any event loop."""

    __slots__ = ("_fd", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        # What TLS has to wrap cannot go straight to the socket.
        sock = None if transport.get_extra_info("sslcontext") is not None else transport.get_extra_info("socket")
        self._fd: int = sock.fileno() if sock is not None else -1

    def write(self, data: bytes) -> None:
        transport = self._transport
        # A transport that closes may give its file descriptor back at any time, and somebody else may get it.
        if self._fd >= 0 and not transport.get_write_buffer_size() and not transport.is_closing():
            try:
                sent = os.write(self._fd, data)
            except OSError:
                sent = 0  # full, or broken: the transport finds out which, and says so
            if sent == len(data):
                return
            data = data[sent:]
        transport.write(data)
