"""Addresses: ``HOST:PORT`` and back, sockets that listen, and ports that nobody uses.

Owns: the text form of an address, and where free ports are looked for. Must not know: what is served there.

A port for a broker must stay its own while the broker is down, for it is going to be restarted there. So free ports
are taken from below the range from which the kernel serves outgoing connections: inside that range a neighbour's
next attempt to dial could be given the very port that it dials, and talk to itself.
"""

from __future__ import annotations

import functools
import itertools
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from reknit.live.errors import ConfigError, PortTaken

__all__ = ["Address", "free_ports", "listen", "parse_address", "port_is_free"]

PORT_MAX = 65535
BACKLOG = 1024
FREE_PORT_FIRST = 20000
FREE_PORT_LAST_DEFAULT = 32767
PORTS_PER_PROCESS = 97
"""So far apart begin two processes whose ids are next to each other; a prime, so that all of the range is used."""
_PORT_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str, what: str = "address") -> Address:
    """``HOST:PORT`` or ``[V6]:PORT``; ``what`` names the flag or key in the error."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > PORT_MAX:
        raise ConfigError(f"{what}: {text!r} is no HOST:PORT (such as 127.0.0.1:1883)")
    return Address(host, int(port))


def listen(address: Address, what: str) -> socket.socket:
    """A listening socket; ``PortTaken`` says who wanted the address, and why it could not be had."""
    try:
        family, kind, proto, _, where = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ConfigError(f"{what}: {address.host!r} is no known host ({error.strerror})") from None
    sock = socket.socket(family, kind, proto)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(where)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise PortTaken(f"{what}: cannot listen on {address}: {os.strerror(error.errno or 0)}") from None
    sock.setblocking(False)
    return sock


def port_is_free(address: Address) -> bool:
    try:
        listen(address, "").close()
    except PortTaken:
        return False
    return True


def free_ports(host: str, count: int, avoid: frozenset[int] = frozenset()) -> list[int]:
    """``count`` different ports of ``host`` on which nobody listens now, none of them in ``avoid``.

    A port is not taken before somebody listens there, so nobody else may be shown it until then: a process goes
    round the whole range from a place of its own before it names one again.
    """
    last = max(_outgoing_first() - 1, FREE_PORT_FIRST)
    span = last - FREE_PORT_FIRST + 1
    ports = (FREE_PORT_FIRST + step % span for step in itertools.islice(_steps(os.getpid()), span))
    free = (port for port in ports if port not in avoid and port_is_free(Address(host, port)))
    if len(found := list(itertools.islice(free, count))) == count:
        return found
    raise PortTaken(f"no {count} free ports between {FREE_PORT_FIRST} and {last} on {host}")


@functools.cache
def _steps(process: int) -> Iterator[int]:
    """Where this process goes on looking; of the process it was forked from the id keeps it apart."""
    return itertools.count(process * PORTS_PER_PROCESS)


def _outgoing_first() -> int:
    """Where the kernel's range for outgoing connections begins."""
    try:
        return int(_PORT_RANGE_FILE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return FREE_PORT_LAST_DEFAULT + 1
