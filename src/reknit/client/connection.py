"""A client's connection: publish and subscribe with ordinary Python values, over MQTT 5.

Owns: the life of the connection, and what is asked over it. Must not know: brokers' insides. Thin over aiomqtt, which
keeps two things to itself that are needed here: why a SUBACK refused, and messages without a task for each. Both come
to it as callbacks, so a subclass that overrides these two callbacks is all that is needed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Self

import aiomqtt
from paho.mqtt.client import MQTTMessage
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from reknit.client.errors import BadAttribute, ClientError, ConnectFailed, Disconnected, Refused
from reknit.client.event import publish_properties
from reknit.client.subscription import Group, Groups, Subscription
from reknit.model.event import Scalar

__all__ = ["Client", "connect"]

SELECTOR_PROPERTY = "selector"
PENDING_CALLS_MAX = 10_000
"""As many publications at QoS 1 may wait for their acknowledgement before aiomqtt warns."""
ANSWER_S_MAX = 10.0
FAILURE_CODE_MIN = 0x80


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
        self.pending_calls_threshold = PENDING_CALLS_MAX

    def _on_subscribe(
        self, client: Any, userdata: Any, mid: int, reason_codes: list[ReasonCode], properties: Any = None
    ) -> None:
        granted = _Granted(reason_codes, str(getattr(properties, "ReasonString", "")))
        super()._on_subscribe(client, userdata, mid, granted, properties)

    def _on_message(self, client: Any, userdata: Any, message: MQTTMessage) -> None:
        self._groups.dispatch(message)


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
        }
        self._groups = Groups(json_attributes)
        self._changing = asyncio.Lock()
        self._mqtt: _Mqtt
        self._watch: asyncio.Task[None]

    async def __aenter__(self) -> Self:
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
        self._fail(Disconnected(f"{self._where}: the client was closed"))
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

        At QoS 1 it returns once the broker has taken the event over.
        """
        if both := sorted(set(attributes or ()) & set(values)):
            raise BadAttribute(f"attribute {both[0]!r} is given twice")
        properties = publish_properties({**(attributes or {}), **values}, content_type)
        try:
            await self._mqtt.publish(topic, payload, qos=qos, properties=properties)
        except aiomqtt.MqttError as error:
            raise Disconnected(f"{self._where}: {error}") from None

    def subscribe(self, *topics: str, where: str = "", qos: int = 0) -> Subscription:
        """Events that match one of ``topics``, and ``where``, each once; subscribed inside ``async with``."""
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
            if group.mixed:
                _check(topic, subscription.where)
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
            raise Refused(f"{group.topic}: {error}") from None
        except aiomqtt.MqttError as error:
            raise Disconnected(f"{self._where}: {error}") from None
        if isinstance(answer, _Granted) and any(code.value >= FAILURE_CODE_MIN for code in answer):
            raise Refused(answer.reason or str(answer[0]))

    async def _watching(self) -> None:
        """The messages go to their subscriptions by themselves; what is left to wait for is the end."""
        try:
            async for _ in self._mqtt.messages:
                pass
        except aiomqtt.MqttError as error:
            self._fail(Disconnected(f"{self._where}: {_why(error.__cause__ or error)}"))

    def _fail(self, error: Exception) -> None:
        for member in self._groups.members:
            member.fail(error)


def _why(error: BaseException) -> str:
    """What the broker said at the end, if it said anything; a cut connection looks like this unspecified error."""
    code = getattr(error, "rc", None)
    if not isinstance(code, ReasonCode) or code.value == FAILURE_CODE_MIN:
        return "the connection was lost"
    return f"the broker ended the connection: {code}"


def _check(topic: str, where: str) -> None:
    """Find a fault in a selector before it is joined with others, where the broker's words would point astray."""
    from reknit.model.pattern import Pattern

    Pattern.parse(topic, where)
