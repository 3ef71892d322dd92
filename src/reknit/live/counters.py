"""What the shell of a broker has counted since it began.

Owns: the numbers and what each means. Must not know: who counts, or who reads.
"""

from __future__ import annotations

import msgspec

__all__ = ["Counters"]


class Counters(msgspec.Struct):
    """What the shell has counted since it began."""

    clients_accepted: int = 0
    clients_refused: int = 0
    clients_paused: int = 0
    clients_too_slow: int = 0
    links_accepted: int = 0
    links_dialled: int = 0
    links_refused: int = 0
    links_too_slow: int = 0
    link_frames_refused: int = 0
    links_closed: int = 0
    """Connections that the core did not want any longer: garbage, silence, a stranger, a doubled link."""
    failures: int = 0
    """Exceptions that nothing else had handled: each one is a bug, and is logged."""
    memory_failures: int = 0
    """Times that the neighbours could not be written down."""
    websocket_garbage: int = 0
    """Connections that were no WebSocket, or of another subprotocol than ``mqtt``."""
    admin_garbage: int = 0
    """Requests at the operators' door that were no HTTP."""
    admin_refused: int = 0
    """Requests there that came without an operator's token or password where one is needed."""
    turns: int = 0
    writes: int = 0
