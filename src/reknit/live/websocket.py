"""The clients' door through WebSocket, subprotocol ``mqtt``: MQTT's stream of bytes in binary messages.

Owns: the handshake, and the frames around the bytes. Must not know: MQTT. A browser's origin is not asked: the door
decides by names and passwords, and there is nothing here that a browser would send by itself.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    RejectConnection,
    Request,
    TextMessage,
)
from wsproto.utilities import ProtocolError

from reknit.live.mqtt_server import ClientProtocol

if TYPE_CHECKING:
    from reknit.live.driver import Driver

__all__ = ["WebSocketProtocol"]

SUBPROTOCOL = "mqtt"
HANDSHAKE_BYTES_MAX = 64 * 1024
NOT_ACCEPTABLE = 1003
"""The code that closes a connection on which text came."""


class WebSocketProtocol(ClientProtocol):
    """One client's connection, in frames."""

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver)
        self._ws = WSConnection(ConnectionType.SERVER)
        self._heard_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._raw = self.write
        self.write = self._write_framed

    def data_received(self, data: bytes) -> None:
        if not self._open:
            return
        self._heard_bytes += len(data)
        if self._ws.state is ConnectionState.CONNECTING and self._heard_bytes > HANDSHAKE_BYTES_MAX:
            self.transport.abort()
            return
        try:
            self._ws.receive_data(data)
            for event in self._ws.events():
                self._on_event(event)
        except ProtocolError:
            self._driver.counters.websocket_garbage += 1
            self.transport.abort()

    def _on_event(self, event: Event) -> None:
        match event:
            case Request(subprotocols=offered) if SUBPROTOCOL in offered:
                self._send(AcceptConnection(subprotocol=SUBPROTOCOL))
            case Request():
                self._driver.counters.websocket_garbage += 1
                self._send(RejectConnection(status_code=400))
                self.transport.close()
            case BytesMessage(data=data):
                super().data_received(bytes(data))
            case TextMessage():
                self._send(CloseConnection(code=NOT_ACCEPTABLE))
                self.transport.close()
            case Ping():
                self._send(event.response())
            case CloseConnection():
                if self._ws.state is not ConnectionState.CLOSED:
                    self._send(event.response())
                self.transport.close()

    def _send(self, event: Event) -> None:
        self._raw(self._ws.send(event))

    def _write_framed(self, data: bytes) -> None:
        if self._ws.state is ConnectionState.OPEN:
            self._raw(self._ws.send(BytesMessage(data=data)))

    def close(self, *, lingers: bool = False) -> None:
        if self._open and self._ws.state is ConnectionState.OPEN and not self.transport.is_closing():
            self._send(CloseConnection(code=1000))
        super().close(lingers=lingers)
