"""aiomqtt's client, with what it keeps to itself.

Owns: why a SUBACK or PUBACK refused, the broker's limits and last words, where it sends us, and messages without a task
for each. All of these come as callbacks, so a subclass that overrides those is enough. Must not know: who waits.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import aiomqtt
from paho.mqtt.client import MQTT_ERR_SUCCESS, MQTTMessage
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from reknit.client.errors import Disconnected
from reknit.client.moving import Place, referred
from reknit.client.subscription import Groups

__all__ = ["FAILURE_CODE_MIN", "Granted", "Moved", "Mqtt"]

FAILURE_CODE_MIN = 0x80


class Granted(list[ReasonCode]):
    """A SUBACK's reason codes, and its reason in words."""

    def __init__(self, codes: list[ReasonCode], reason: str) -> None:
        super().__init__(codes)
        self.reason = reason


class Moved(Exception):
    """The client went elsewhere before this was answered: ask again."""


class Mqtt(aiomqtt.Client):
    def __init__(self, groups: Groups, in_flight_max: int, **settings: Any) -> None:
        super().__init__(**settings)
        self._groups = groups
        self._in_flight_max = in_flight_max
        self._received: dict[int, None] = {}  # packet identifiers at QoS 1, of this session
        self.elsewhere: Place | None = None
        """Where the broker has sent us."""
        self.session_present = False
        self.sent_away: Callable[[], None] | None = None
        """Called at once when the broker sends us elsewhere, before anybody can ask for anything more."""
        self._acknowledgements: dict[int, asyncio.Future[str]] = {}
        self.packet_bytes_max = 0
        """The broker's limit; 0 while it has not named one."""
        self.last_words = ""
        """What the broker said when it ended the connection."""

    async def send(self, topic: str, payload: bytes, qos: int, retain: bool, properties: Properties | None) -> str:
        """Publish, and wait until it is written or acknowledged; why the broker refused it, empty if it did not."""
        info = self._client.publish(topic, payload, qos, retain, properties)
        if info.rc != MQTT_ERR_SUCCESS:
            raise aiomqtt.MqttCodeError(info.rc, "could not publish")
        if info.is_published():
            return ""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._acknowledgements[info.mid] = answer
        try:
            async with asyncio.timeout(self.timeout):
                return await answer
        finally:
            self._acknowledgements.pop(info.mid, None)

    async def go(self, place: Place) -> None:
        """Connect to another broker, which has our session; what was not acknowledged is sent again."""
        self.elsewhere = None
        with contextlib.suppress(aiomqtt.MqttError):
            await self.__aexit__(None, None, None)
        self._connected = asyncio.get_running_loop().create_future()
        self._hostname, self._port, self._clean_start = place.host, place.port, False
        await self.__aenter__()

    def ask_again(self) -> None:
        """Requests are not part of a session: what the former broker has not answered nobody will."""
        for waiting in self._pending_subscribes.values():
            if not waiting.done():
                waiting.set_exception(Moved())
        for confirmation in self._pending_unsubscribes.values():
            confirmation.set()

    def give_up(self, why: str) -> None:
        """The connection is over: whoever waits for an answer gets none."""
        pending: list[asyncio.Future[Any]] = [*self._acknowledgements.values(), *self._pending_subscribes.values()]
        for waiting in pending:
            if not waiting.done():
                waiting.set_exception(Disconnected(why))
        for confirmation in self._pending_unsubscribes.values():
            confirmation.set()

    def _on_connect(self, client: Any, userdata: Any, flags: Any, reason_code: Any, properties: Any = None) -> None:
        self.packet_bytes_max = getattr(properties, "MaximumPacketSize", 0)
        # The public setter is for the time before the connection, when the broker's limit is not known yet.
        client._max_inflight_messages = min(
            self._in_flight_max, getattr(properties, "ReceiveMaximum", self._in_flight_max)
        )
        self.elsewhere = referred(reason_code, properties)
        self.session_present = bool(getattr(flags, "session_present", False))
        if not self.session_present:
            self._received.clear()
        if assigned := getattr(properties, "AssignedClientIdentifier", ""):
            client._client_id = assigned.encode()  # so that we are known again where we are sent to
        super()._on_connect(client, userdata, flags, reason_code, properties)

    def _on_disconnect(self, client: Any, userdata: Any, flags: Any, reason_code: Any, properties: Any = None) -> None:
        self.last_words = _reason_string(properties)
        self.elsewhere = self.elsewhere or referred(reason_code, properties)
        if self.elsewhere is not None and self.sent_away is not None:
            self.sent_away()
        super()._on_disconnect(client, userdata, flags, reason_code, properties)

    def _on_socket_register_write(self, client: Any, userdata: Any, sock: Any) -> None:
        """The socket may be closed by the time that the loop hears of it, and its number may be another one's then."""

        def write() -> None:
            try:
                client.loop_write()
            except Exception as error:
                if not self._disconnected.done():
                    self._disconnected.set_exception(error)

        def register() -> None:
            if client.socket() is sock and client.want_write():
                self._loop.add_writer(sock.fileno(), write)

        self._loop.call_soon_threadsafe(register)

    def _on_publish(self, client: Any, userdata: Any, mid: int, reason_code: ReasonCode, properties: Any) -> None:
        answer = self._acknowledgements.get(mid)
        if answer is not None and not answer.done():
            failed = reason_code.value >= FAILURE_CODE_MIN
            answer.set_result((_reason_string(properties) or str(reason_code)) if failed else "")

    def _on_subscribe(
        self, client: Any, userdata: Any, mid: int, reason_codes: list[ReasonCode], properties: Any = None
    ) -> None:
        super()._on_subscribe(client, userdata, mid, Granted(reason_codes, _reason_string(properties)), properties)

    def _on_message(self, client: Any, userdata: Any, message: MQTTMessage) -> None:
        if message.qos == 1 and self._is_repeated(message):  # of QoS 2 the library takes care
            return
        self._groups.dispatch(message)

    def _is_repeated(self, message: MQTTMessage) -> bool:
        """A broker uses an identifier again only once it was acknowledged, and says if it may have sent it before."""
        if message.dup and message.mid in self._received:
            return True
        self._received[message.mid] = None
        return False


def _reason_string(properties: Any) -> str:
    return str(getattr(properties, "ReasonString", ""))
