"""What can go wrong for a client, and whose fault it is.

Owns: the errors that this package raises. What is wrong in itself is found before anything is sent: a bad attribute is
the model's ``BadAttribute``, a bad topic or selector its ``BadTopic`` or ``BadSelector``, both kinds of ``BadPattern``.
"""

from __future__ import annotations

from reknit.model.errors import BadPattern
from reknit.model.event import BadAttribute
from reknit.model.selector import BadSelector
from reknit.model.topic import BadTopic

__all__ = [
    "BadAttribute",
    "BadPattern",
    "BadRequest",
    "BadSelector",
    "BadTopic",
    "ClientError",
    "ConnectFailed",
    "Disconnected",
    "FellBehind",
    "NotAnswered",
    "Refused",
]


class ClientError(Exception):
    """Any failure of the connection or of what was asked over it."""


class BadRequest(ClientError, ValueError):
    """The caller's fault: no broker, or not this one, can be asked for that. Nothing was sent."""


class ConnectFailed(ClientError):
    """No broker answered at the address, or it refused the client."""


class Disconnected(ClientError):
    """The connection ended while something still depended on it."""


class FellBehind(ClientError):
    """Events came faster than they were taken, and the bound was reached: from here on some are missing."""


class NotAnswered(ClientError):
    """The broker is there, but has not answered in time. What was asked may still be done."""


class Refused(ClientError):
    """The broker refused a subscription or a publication; the text says why."""
