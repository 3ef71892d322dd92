"""A client's connection: publish and subscribe with ordinary Python values, over MQTT 5.

Owns: the life of the connection, and what is asked over it. Must not know: brokers' insides. Thin over aiomqtt, which
keeps some things to itself that are needed here: why a SUBACK or PUBACK refused, the broker's limits and last words,
and messages without a task for each. All come to it as callbacks, so a subclass that overrides these is enough.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any, Self

import aiomqtt
from paho.mqtt.client import MQTT_ERR_SUCCESS, MQTTMessage
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from reknit.client.errors import (
    BadAttribute,
    BadRequest,
    ClientError,
    ConnectFailed,
    Disconnected,
    NotAnswered,
    Refused,
)
from reknit.client.event import publish_properties
from reknit.client.subscription import Group, Groups, Subscription
from reknit.model.event import SELECTOR_PROPERTY, Scalar
from reknit.model.topic import check_topic

__all__ = ["Client", "connect"]

IN_FLIGHT_MAX = 20
"""Publications at QoS 1 on their way at once, where the broker takes as many; others wait here."""
ANSWER_S_MAX = 10.0
FAILURE_CODE_MIN = 0x80

_LOGGER = logging.getLogger("reknit.client")
_LOGGER.addHandler(logging.NullHandler())  # what matters is raised; nothing is printed unless the program asks for it


def connect(
    host: str = "127.0.0.1",
    port: int = 1883,
    *,
    client_id: str = "",
    keepalive_s: int = 60,
    json_attributes: bool = False,
) -> Client:
    """A client that is connected inside ``async with``.

    ``json_attributes`` says that the brokers read attributes from JSON payloads; it matters only for subscriptions
    with different selectors on one topic filter.
    """
    return Client(host, port, client_id, keepalive_s, json_attributes)


class _Granted(list[ReasonCode]):
    """A SUBACK's reason codes, and its reason in words."""

    def __init__(self, codes: list[ReasonCode], reason: str) -> None:
        super().__init__(codes)
        self.reason = reason


class _Mqtt(aiomqtt.Client):
    def __init__(self, groups: Groups, **settings: Any) -> None:
        super().__init__(**settings)
        self._groups = groups
        self._acknowledgements: dict[int, asyncio.Future[str]] = {}
        self.packet_bytes_max = 0
        """The broker's limit; 0 while it has not named one."""
        self.last_words = ""
        """What the broker said when it ended the connection."""

    async def send(self, topic: str, payload: bytes, qos: int, properties: Properties | None) -> str:
        """Publish, and wait until it is written or acknowledged; why the broker refused it, empty if it did not."""
        info = self._client.publish(topic, payload, qos, False, properties)
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
        client._max_inflight_messages = min(IN_FLIGHT_MAX, getattr(properties, "ReceiveMaximum", IN_FLIGHT_MAX))
        super()._on_connect(client, userdata, flags, reason_code, properties)

    def _on_disconnect(self, client: Any, userdata: Any, flags: Any, reason_code: Any, properties: Any = None) -> None:
        self.last_words = _reason_string(properties)
        super()._on_disconnect(client, userdata, flags, reason_code, properties)

    def _on_publish(self, client: Any, userdata: Any, mid: int, reason_code: ReasonCode, properties: Any) -> None:
        answer = self._acknowledgements.get(mid)
        if answer is not None and not answer.done():
            failed = reason_code.value >= FAILURE_CODE_MIN
            answer.set_result((_reason_string(properties) or str(reason_code)) if failed else "")

    def _on_subscribe(
        self, client: Any, userdata: Any, mid: int, reason_codes: list[ReasonCode], properties: Any = None
    ) -> None:
        super()._on_subscribe(client, userdata, mid, _Granted(reason_codes, _reason_string(properties)), properties)

    def _on_message(self, client: Any, userdata: Any, message: MQTTMessage) -> None:
        self._groups.dispatch(message)


def _reason_string(properties: Any) -> str:
    return str(getattr(properties, "ReasonString", ""))


class Client:
    """One connection to one broker. Make it with ``connect``."""

    def __init__(self, host: str, port: int, client_id: str, keepalive_s: int, json_attributes: bool) -> None:
        self._where = f"{host}:{port}"
        self._settings = {
            "hostname": host,
            "port": port,
            "identifier": client_id or None,
            "keepalive": keepalive_s,
            "protocol": aiomqtt.ProtocolVersion.V5,
            "timeout": ANSWER_S_MAX,
            "logger": _LOGGER,
        }
        self._groups = Groups(json_attributes)
        self._changing = asyncio.Lock()
        self._mqtt: _Mqtt
        self._watch: asyncio.Task[None]
        self._ended = ""

    async def __aenter__(self) -> Self:
        self._ended = ""
        self._mqtt = _Mqtt(self._groups, **self._settings)
        try:
            await self._mqtt.__aenter__()
        except (aiomqtt.MqttError, OSError, ValueError) as error:
            raise ConnectFailed(f"{self._where}: {error}") from None
        self._watch = asyncio.create_task(self._watching())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watch.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._watch
        self._fail(f"{self._where}: the client was closed")
        with contextlib.suppress(aiomqtt.MqttError):
            await self._mqtt.__aexit__(None, None, None)

    async def publish(
        self,
        topic: str,
        payload: bytes | str = b"",
        *,
        attributes: Mapping[str, Scalar] | None = None,
        qos: int = 0,
        content_type: str = "",
        **values: Scalar,
    ) -> None:
        """Publish one event. Attributes are keyword arguments, or a map where a name is taken or is no identifier.

        At QoS 1 it returns once the broker has taken the event over; ``Refused`` says why it has not. At QoS 0 nobody
        answers.
        """
        if both := sorted(set(attributes or ()) & set(values)):
            raise BadAttribute(f"attribute {both[0]!r} is given twice")
        check_topic(topic)
        _check_qos(qos)
        properties = publish_properties({**(attributes or {}), **values}, content_type)
        data = _payload(payload)
        self._check_size(topic, data, qos, properties)
        if self._ended:
            raise Disconnected(self._ended)
        try:
            refusal = await self._mqtt.send(topic, data, qos, properties)
        except aiomqtt.MqttError as error:
            raise Disconnected(self._ended or f"{self._where}: {error}") from None
        except TimeoutError:
            raise NotAnswered(f"{self._where}: no acknowledgement within {ANSWER_S_MAX:g} s") from None
        if refusal:
            raise Refused(f"{topic}: {refusal}")

    def _check_size(self, topic: str, payload: bytes, qos: int, properties: Properties | None) -> None:
        limit = self._mqtt.packet_bytes_max
        if not limit:
            return
        body = 2 + len(topic.encode()) + 2 * qos + len(payload)
        body += 1 if properties is None else len(properties.pack())  # type: ignore[no-untyped-call]
        size = 1 + max(1, -(-body.bit_length() // 7)) + body
        if size > limit:
            raise BadRequest(f"{topic}: the packet has {size} bytes, and the broker takes {limit} at most")

    def subscribe(self, *topics: str, where: str = "", qos: int = 0) -> Subscription:
        """Events that match one of ``topics``, and ``where``, each once; subscribed inside ``async with``.

        ``BadTopic`` or ``BadSelector`` at once, if one is none.
        """
        if not topics:
            raise BadRequest("subscribe: name at least one topic filter")
        _check_qos(qos)
        for topic in topics:
            _check(topic, where)
        return Subscription(self, topics, where, qos)

    # --- for subscriptions

    async def join(self, subscription: Subscription) -> None:
        """Ask the broker for what this subscription wants, beside the others; ``Refused`` if it will not."""
        async with self._changing:
            joined: list[str] = []
            try:
                for topic in dict.fromkeys(subscription.topics):
                    joined.append(topic)
                    await self._enter(topic, subscription)
            except BaseException:
                for topic in joined[:-1]:
                    await self._exit(topic, subscription)
                raise

    async def leave(self, subscription: Subscription) -> None:
        """Take the subscription back; of a connection that is gone, nothing is left to be taken back."""
        async with self._changing:
            for topic in dict.fromkeys(subscription.topics):
                await self._exit(topic, subscription)

    async def _enter(self, topic: str, subscription: Subscription) -> None:
        group = self._groups.group(topic)
        group.members.append(subscription)
        try:
            await self._ask(group)
        except BaseException:
            group.members.remove(subscription)
            if not group.members:
                self._groups.drop(group)
            raise

    async def _exit(self, topic: str, subscription: Subscription) -> None:
        group = self._groups.group(topic)
        before = group.where
        group.members.remove(subscription)
        with contextlib.suppress(ClientError, aiomqtt.MqttError):
            if not group.members:
                self._groups.drop(group)
                await self._mqtt.unsubscribe(topic)
            elif group.where != before:
                await self._ask(group)

    async def _ask(self, group: Group) -> None:
        properties = Properties(PacketTypes.SUBSCRIBE)  # type: ignore[no-untyped-call]
        properties.SubscriptionIdentifier = group.identifier
        if group.where:
            properties.UserProperty = [(SELECTOR_PROPERTY, group.where)]
        try:
            answer = await self._mqtt.subscribe(
                group.topic, options=SubscribeOptions(qos=group.qos), properties=properties
            )
        except ValueError as error:
            raise BadRequest(f"{group.topic}: {error}") from None
        except aiomqtt.MqttError as error:
            raise Disconnected(self._ended or f"{self._where}: {error}") from None
        if isinstance(answer, _Granted) and any(code.value >= FAILURE_CODE_MIN for code in answer):
            raise Refused(answer.reason or str(answer[0]))

    async def _watching(self) -> None:
        """The messages go to their subscriptions by themselves; what is left to wait for is the end."""
        try:
            async for _ in self._mqtt.messages:
                pass
        except aiomqtt.MqttError as error:
            self._fail(f"{self._where}: {_why(error.__cause__ or error, self._mqtt.last_words)}")

    def _fail(self, why: str) -> None:
        self._ended = self._ended or why
        self._mqtt.give_up(why)
        for member in self._groups.members:
            member.fail(Disconnected(why))


def _why(error: BaseException, last_words: str) -> str:
    """What the broker said at the end, if it said anything; a cut connection looks like this unspecified error."""
    code = getattr(error, "rc", None)
    if not isinstance(code, ReasonCode) or code.value == FAILURE_CODE_MIN:
        return "the connection was lost"
    return f"the broker ended the connection: {code}" + (f" ({last_words})" if last_words else "")


def _check(topic: str, where: str) -> None:
    """Find a fault here, with a picture of it; the broker's words are one line, and cannot tell joined selectors."""
    from reknit.model.pattern import Pattern

    Pattern.parse(topic, where)


def _check_qos(qos: int) -> None:
    if qos not in (0, 1):
        raise BadRequest(f"QoS is 0 or 1, not {qos!r}")


def _payload(payload: bytes | str) -> bytes:
    try:
        return payload.encode() if isinstance(payload, str) else bytes(payload)
    except UnicodeEncodeError:
        raise BadRequest("the payload cannot be written as UTF-8") from None
