"""The Python client: ``async with reknit.connect(...) as client``.

async with reknit.connect("127.0.0.1", 1883) as client:
    async with client.subscribe("city/+/traffic", where="severity >= 3") as events:
        await client.publish("city/berlin/traffic", b"jam", severity=4, region="eu")
        async for event in events:
            print(event.topic, event.attributes["severity"], event.payload)
"""

from reknit.client.connection import Client, connect
from reknit.client.errors import (
    BadAttribute,
    BadPattern,
    BadRequest,
    BadSelector,
    BadTopic,
    ClientError,
    ConnectFailed,
    Disconnected,
    FellBehind,
    NotAnswered,
    Refused,
)
from reknit.client.event import Event
from reknit.client.gaps import Gap
from reknit.client.subscription import Subscription
from reknit.client.terms import Terms, Will

__all__ = [
    "BadAttribute",
    "BadPattern",
    "BadRequest",
    "BadSelector",
    "BadTopic",
    "Client",
    "ClientError",
    "ConnectFailed",
    "Disconnected",
    "Event",
    "FellBehind",
    "Gap",
    "NotAnswered",
    "Refused",
    "Subscription",
    "Terms",
    "Will",
    "connect",
]
