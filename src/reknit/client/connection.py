"""A client's connection: publish and subscribe with ordinary Python values, over MQTT 5.

Owns: the life of the connection, and what is asked over it. Must not know: brokers' insides. Thin over aiomqtt.

A broker that is drained sends its clients elsewhere, and their sessions ahead of them. The client follows: it connects
there, finds its session, sends again what was not acknowledged, and asks again what was not answered. Meanwhile whoever
wants something waits; nobody else notices.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Mapping
from typing import Self, TypeVar

import aiomqtt
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from reknit.client._mqtt import FAILURE_CODE_MIN, Granted, Moved, Mqtt
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
from reknit.client.gaps import GAPS, Gaps
from reknit.client.moving import Place
from reknit.client.properties import USER, Pairs, to_paho
from reknit.client.subscription import Everything, Group, Groups, Subscription
from reknit.client.terms import Terms
from reknit.model.event import SELECTOR_PROPERTY, Scalar
from reknit.model.topic import check_topic

__all__ = ["Client", "connect"]

ANSWER_S_MAX = 10.0
FOLLOW_MAX = 8
"""From broker to broker without a moment of rest; beyond it they send the client round in a circle."""
FOLLOW_S_MAX = 10.0
"""How long a broker that the client was sent to may be busy or away."""
FOLLOW_WAIT_S = 0.1

_Wanted = TypeVar("_Wanted", bound=Subscription)

_LOGGER = logging.getLogger("reknit.client")
_LOGGER.addHandler(logging.NullHandler())  # what matters is raised; nothing is printed unless the program asks for it


def connect(
    host: str = "127.0.0.1",
    port: int = 1883,
    *,
    client_id: str = "",
    keepalive_s: int = 60,
    json_attributes: bool = False,
    terms: Terms | None = None,
) -> Client:
    """A client that is connected inside ``async with``. ``terms``: who it is, TLS, a will, a session that stays.

    ``json_attributes`` says that the brokers read attributes from JSON payloads; it matters only for subscriptions
    with different selectors on one topic filter.
    """
    return Client(host, port, client_id, keepalive_s, json_attributes, terms or Terms())


class Client:
    """One connection to one broker. Make it with ``connect``."""

    def __init__(
        self, host: str, port: int, client_id: str, keepalive_s: int, json_attributes: bool, terms: Terms
    ) -> None:
        self._where = f"{host}:{port}"
        self._terms = terms
        self._settings = {
            "hostname": host,
            "port": port,
            "identifier": client_id or None,
            "keepalive": keepalive_s,
            "timeout": ANSWER_S_MAX,
            "logger": _LOGGER,
            **terms.settings(),
        }
        self._groups = Groups(json_attributes)
        self._changing = asyncio.Lock()
        self._mqtt: Mqtt
        self._watch: asyncio.Task[None]
        self._ended = ""
        self._here = asyncio.Event()  # not on the way from one broker to another

    async def __aenter__(self) -> Self:
        self._ended = ""
        self._mqtt = Mqtt(self._groups, self._terms.in_flight_max, **self._settings)
        try:
            await self._connect()
        except (aiomqtt.MqttError, OSError, ValueError) as error:
            raise ConnectFailed(f"{self._where}: {error}") from None
        self._here.set()
        self._mqtt.sent_away = self._here.clear
        self._watch = asyncio.create_task(self._watching())
        return self

    async def _connect(self) -> None:
        """To the broker that was named, or to the one that it names instead."""
        try:
            await self._mqtt.__aenter__()
        except aiomqtt.MqttError:
            if self._mqtt.elsewhere is None:
                raise
            await self._follow(self._mqtt.elsewhere)

    async def _follow(self, place: Place) -> None:
        """Go where the broker has sent us, and from there on, if it must be. A broker that is busy is asked again."""
        until = asyncio.get_running_loop().time() + FOLLOW_S_MAX
        for _ in range(FOLLOW_MAX):
            while True:
                self._where = str(place)
                try:
                    await self._mqtt.go(place)
                    return
                except aiomqtt.MqttError:
                    if self._mqtt.elsewhere is not None:
                        place = self._mqtt.elsewhere
                        break
                    if asyncio.get_running_loop().time() > until:
                        raise
                    await asyncio.sleep(FOLLOW_WAIT_S)
        raise aiomqtt.MqttError(f"sent from broker to broker more than {FOLLOW_MAX} times")

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
        retain: bool = False,
        content_type: str = "",
        properties: Pairs = (),
        **values: Scalar,
    ) -> None:
        """Publish one event. Attributes are keyword arguments, or a map where a name is taken or is no identifier.

        At QoS 1 and 2 it returns once the broker has taken the event over; ``Refused`` says why it has not. At QoS 0
        nobody answers. ``properties``: more of MQTT's own, such as ``response-topic``.
        """
        if both := sorted(set(attributes or ()) & set(values)):
            raise BadAttribute(f"attribute {both[0]!r} is given twice")
        check_topic(topic)
        _check_qos(qos)
        sent = publish_properties({**(attributes or {}), **values}, content_type, properties)
        if sent is not None and not self._terms.modern:
            raise BadRequest(f"MQTT {self._terms.version} has no attributes and no properties; use 5")
        data = _payload(payload)
        self._check_size(topic, data, qos, sent)
        await self._be_here()
        try:
            refusal = await self._mqtt.send(topic, data, qos, retain, sent)
        except aiomqtt.MqttError as error:
            raise Disconnected(self._ended or f"{self._where}: {error}") from None
        except TimeoutError:
            raise NotAnswered(f"{self._where}: no acknowledgement within {ANSWER_S_MAX:g} s") from None
        if refusal:
            raise Refused(f"{topic}: {refusal}")

    async def _be_here(self) -> None:
        """Wait until we are connected, if we are on the way to another broker."""
        while not self._ended and not self._here.is_set():
            await self._here.wait()
        if self._ended:
            raise Disconnected(self._ended)

    def _check_size(self, topic: str, payload: bytes, qos: int, properties: Properties | None) -> None:
        limit = self._mqtt.packet_bytes_max
        if not limit:
            return
        body = 2 + len(topic.encode()) + 2 * bool(qos) + len(payload)
        body += 1 if properties is None else len(properties.pack())  # type: ignore[no-untyped-call]
        size = 1 + max(1, -(-body.bit_length() // 7)) + body
        if size > limit:
            raise BadRequest(f"{topic}: the packet has {size} bytes, and the broker takes {limit} at most")

    def subscribe(self, *topics: str, where: str = "", qos: int = 0, order_s: float = 0.0) -> Subscription:
        """Events that match one of ``topics``, and ``where``, each once; subscribed inside ``async with``.

        ``order_s``: where brokers recover lost events, how long an event may wait for earlier ones of the same broker
        that are missing; 0: not at all. ``BadTopic`` or ``BadSelector`` at once, if one is none.
        """
        if not topics:
            raise BadRequest("subscribe: name at least one topic filter")
        if not 0 <= order_s < math.inf:
            raise BadRequest(f"subscribe: {order_s} is no time that events may wait")
        return self._checked(Subscription(self, topics, where, qos, order_s=order_s))

    def gaps(self) -> Gaps:
        """Events that this client has missed, and what becomes of them; told by brokers that recover lost events."""
        return Gaps(self.subscribe(GAPS))

    def everything(self, *topics: str, where: str = "", qos: int = 0, properties: Pairs = ()) -> Everything:
        """All that comes for this client from its connection on, whatever it was subscribed to before.

        For a session that is older than the connection, and is to stay as it is: nothing is ever unsubscribed. Make it
        before connecting, so that nothing is missed; inside ``async with`` the broker has ``topics`` as well.
        """
        return self._checked(Everything(self, topics, where, qos, properties))

    def _checked(self, subscription: _Wanted) -> _Wanted:
        _check_qos(subscription.qos)
        if not self._terms.modern and (subscription.where or subscription.properties or subscription.order_s):
            raise BadRequest(f"MQTT {self._terms.version} has no selectors and no properties; use 5")
        for topic in subscription.topics:
            _check(topic, subscription.where)
        return subscription

    async def unsubscribe(self, topic: str, properties: Pairs = ()) -> None:
        """End a subscription of the session that is older than this connection."""
        await self._be_here()
        try:
            await self._mqtt.unsubscribe(topic, properties=to_paho("unsubscribe", properties))
        except aiomqtt.MqttError as error:
            raise Disconnected(self._ended or f"{self._where}: {error}") from None

    @property
    def identifier(self) -> str:
        """The client identifier, also where the broker has chosen it."""
        return self._mqtt.identifier

    # --- for subscriptions

    def take_everything(self, taker: Subscription) -> None:
        """From now on all messages are for this one."""
        self._groups.taker = taker

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
        before = (group.where, group.order_s)
        group.members.remove(subscription)
        with contextlib.suppress(ClientError, aiomqtt.MqttError):
            if not group.members:
                self._groups.drop(group)
                await self._unsubscribe(topic)
            elif (group.where, group.order_s) != before:
                await self._ask(group)

    async def _unsubscribe(self, topic: str) -> None:
        while True:
            await self._be_here()
            place = self._where
            await self._mqtt.unsubscribe(topic)
            if place == self._where:
                return

    async def _ask(self, group: Group) -> None:
        while True:
            await self._be_here()
            try:
                await self._ask_once(group)
                return
            except Moved:
                continue

    async def _ask_once(self, group: Group) -> None:
        try:
            if self._terms.modern:
                selector = ((USER, (SELECTOR_PROPERTY, group.where)),) if group.where else ()
                # Whoever takes everything need not tell subscriptions apart, and may have a number of its own for them.
                own = () if self._groups.taker is not None else (("subscription-identifier", group.identifier),)
                pairs = (*own, *selector, *group.properties)
                answer = await self._mqtt.subscribe(
                    group.topic, options=SubscribeOptions(qos=group.qos), properties=to_paho("subscribe", pairs)
                )
            else:
                answer = await self._mqtt.subscribe(group.topic, group.qos)
        except ValueError as error:
            raise BadRequest(f"{group.topic}: {error}") from None
        except aiomqtt.MqttError as error:
            raise Disconnected(self._ended or f"{self._where}: {error}") from None
        if isinstance(answer, Granted) and any(code.value >= FAILURE_CODE_MIN for code in answer):
            raise Refused(answer.reason or str(answer[0]))

    async def _watching(self) -> None:
        """The messages go to their subscriptions by themselves; what is left to wait for is the end."""
        while True:
            try:
                async for _ in self._mqtt.messages:
                    pass
            except aiomqtt.MqttError as error:
                place = self._mqtt.elsewhere
                if place is None:
                    self._fail(f"{self._where}: {_why(error.__cause__ or error, self._mqtt.last_words)}")
                    return
                if not await self._move(place):
                    return

    async def _move(self, place: Place) -> bool:
        """The broker has sent us elsewhere; whether we are there."""
        self._here.clear()
        before = self._where
        try:
            await self._follow(place)
            self._mqtt.ask_again()
            if not self._mqtt.session_present:
                for group in self._groups.all:
                    await self._ask_once(group)
        except (aiomqtt.MqttError, ClientError, OSError, ValueError) as error:
            self._fail(f"{before}: sent to {self._where}, and not taken there: {error}")
            return False
        finally:
            self._here.set()
        return True

    def _fail(self, why: str) -> None:
        self._ended = self._ended or why
        self._here.set()
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
    if qos not in (0, 1, 2):
        raise BadRequest(f"QoS is 0, 1 or 2, not {qos!r}")


def _payload(payload: bytes | str) -> bytes:
    try:
        return payload.encode() if isinstance(payload, str) else bytes(payload)
    except UnicodeEncodeError:
        raise BadRequest("the payload cannot be written as UTF-8") from None
