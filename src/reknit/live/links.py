"""Links on TCP: one asyncio protocol for a connection between two brokers.

Owns: the sockets of links, framing, and the bounds on a connection that has not yet said who it is. Must not know:
what a frame means, or which neighbour is expected; that is the core's, which is told whom a certificate names.

A connection starts as a stranger. Until the core has taken its first frame without closing it, frames are short, so
that half a frame followed by silence costs one small buffer, for as long as the core waits for a greeting. Bytes that
the other end does not read are bounded as well: a connection beyond that bound is given up, and the core resumes the
link on another one.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from reknit.live.address import parse_address
from reknit.live.errors import ConfigError
from reknit.live.framing import FrameSplitter, FrameTooLong
from reknit.live.outlet import CLOSE_S_MAX, Outlet
from reknit.live.tls import certified_names
from reknit.wire.codec import FRAME_BYTES_MAX, GREETING_BYTES_MAX

if TYPE_CHECKING:
    from reknit.live.driver import Driver

__all__ = ["DIAL_S_MAX", "LinkProtocol", "dial"]

DIAL_S_MAX = 5.0


class LinkProtocol(asyncio.Protocol):
    """One connection to another broker; ``peer`` is whom we dialled, or empty if the other end dialled us."""

    def __init__(self, driver: Driver, peer: str = "") -> None:
        self.conn = driver.next_conn()
        self.peer = peer
        self.transport: asyncio.Transport
        self.write: Callable[[bytes], None]
        self.ended: asyncio.Future[None] = driver.loop.create_future()
        self.remote = ""
        self.host = ""
        self.names: tuple[str, ...] | None = None
        """Whom the other end's certificate names, where links are in TLS."""
        self.fault = ""
        """Why a connection that is open is of no use."""
        self.known = False
        """Whether the core has taken a word of the other end."""
        self._driver = driver
        self._splitter = FrameSplitter(GREETING_BYTES_MAX)
        self._open = False
        self._end = "closed by the other end"
        if driver.link_tls is not None:
            self._end += ", which may not trust our certificate"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # a loop may have transports of its own kind
        self.write = Outlet(self.transport).write
        remote = transport.get_extra_info("peername")
        self.remote = str(remote)
        self.host = str(remote[0]) if isinstance(remote, tuple) else self.remote
        self.transport.set_write_buffer_limits(high=self._driver.bounds.link_buffer_bytes_max)
        self.names = certified_names(transport) if self._driver.link_tls is not None else None
        if self.peer and self.names is not None and self.peer not in self.names:
            self.fault = f"the certificate there names {', '.join(self.names) or 'nobody'}"
            self.transport.abort()
        else:
            self._open = self._driver.link_opened(self)

    def data_received(self, data: bytes) -> None:
        if not self._open:
            return
        try:
            self._driver.link_received(self, self._splitter.feed(data))
        except FrameTooLong as error:
            self._driver.counters.link_frames_refused += 1
            self._driver.journal.closed(self.peer or self.host, str(error))
            self.give_up(str(error))
        except Exception:
            self._driver.failed(f"link connection {self.conn} from {self.remote}")
            self.give_up("an internal failure")

    def accepted(self) -> None:
        """The core has taken a frame and kept the connection: the other end is no stranger any more."""
        self.known, self._splitter.frame_bytes_max = True, FRAME_BYTES_MAX
        self._end = "closed by the other end"

    def pause_writing(self) -> None:
        # Called from inside a write, so the turn that wrote must come to its end first.
        self._driver.counters.links_too_slow += 1
        self._driver.loop.call_soon(self.give_up, "too many bytes unread by the other end")

    def give_up(self, reason: str) -> None:
        """Cut the connection; the core hears of it as lost."""
        self._end = reason
        self.transport.abort()

    def close(self) -> None:
        """Close after what was written has left; the core has asked for it and hears no more of it."""
        self._open = False
        self.transport.close()
        self._driver.loop.call_later(CLOSE_S_MAX, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set_result(None)
        told, self._open = self._open, False
        self._driver.link_lost(self, str(exc) if exc else self._end, tell=told)


async def dial(driver: Driver, peer: str, address: str) -> str:
    """Open a connection to ``peer``, and say why if there is none. The protocol reports a success by itself."""
    secure = driver.link_tls.client if driver.link_tls is not None else None
    try:
        host, port = parse_address(address)
        async with asyncio.timeout(DIAL_S_MAX):
            _, protocol = await driver.loop.create_connection(
                lambda: LinkProtocol(driver, peer), host, port, ssl=secure, server_hostname=peer if secure else None
            )
        return f"{address}: {protocol.fault}" if protocol.fault else ""
    except TimeoutError:
        return f"{address} did not answer within {DIAL_S_MAX:g} s"
    except ConfigError as error:
        return str(error)
    except ssl.SSLError as error:
        return f"{address}: TLS: {error.reason or error}"
    except OSError as error:
        # The kernel's words for its own errors, which a loop may have dressed up; the resolver's for those of names.
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        return f"{address}: {why or error}"
