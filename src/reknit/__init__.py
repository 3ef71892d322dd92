"""reknit: a publish/subscribe network whose shape can change while events flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reknit.client import connect

__all__ = ["__version__", "connect"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """``connect`` comes with the client, which is imported when it is asked for."""
    if name == "connect":
        from reknit.client import connect

        return connect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
