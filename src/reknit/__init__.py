"""reknit: a publish/subscribe network whose shape can change while events flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reknit.client import ClientError, Event, Refused, connect
    from reknit.live.peers.member import peer

__all__ = ["ClientError", "Event", "Refused", "__version__", "connect", "peer"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """What comes with the client, or with peers, which are imported when they are asked for."""
    if name == "peer":
        from reknit.live.peers.member import peer

        return peer
    if name in __all__:
        from reknit import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
