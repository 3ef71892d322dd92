"""What can go wrong for a client, and whose fault it is.

Owns: the errors that this package raises. A bad attribute is the model's ``BadAttribute``, raised before anything is
sent; a pattern that the broker refuses is a ``BadPattern`` with the broker's own words.
"""

from __future__ import annotations

from reknit.model.errors import BadPattern
from reknit.model.event import BadAttribute

__all__ = ["BadAttribute", "BadPattern", "ClientError", "ConnectFailed", "Disconnected", "FellBehind", "Refused"]


class ClientError(Exception):
    """Any failure of the connection or of what was asked over it."""


class ConnectFailed(ClientError):
    """No broker answered at the address, or it refused the client."""


class Disconnected(ClientError):
    """The connection ended while something still depended on it."""


class FellBehind(ClientError):
    """Events came faster than they were taken, and the bound was reached: from here on some are missing."""


class Refused(ClientError, BadPattern):
    """The broker refused a subscription; the text says why."""
