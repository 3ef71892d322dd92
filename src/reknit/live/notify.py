"""Telling the service manager how it goes: systemd's notifications.

Owns: the one datagram to the socket that the environment names. Must not know: what the state means. Without such a
socket, or with one that does not listen, nothing happens.
"""

from __future__ import annotations

import contextlib
import os
import socket

__all__ = ["notify"]

VARIABLE = "NOTIFY_SOCKET"


def notify(*states: str) -> None:
    """Such as ``READY=1``."""
    address = os.environ.get(VARIABLE, "")
    if not address:
        return
    path = "\0" + address[1:] if address.startswith("@") else address
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        sock.sendto("\n".join(states).encode(), path)
