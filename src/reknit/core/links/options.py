"""The named times and bounds of a link."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

__all__ = ["LinkKind", "LinkOptions"]

LinkKind: TypeAlias = Literal["stream", "datagram"]


class LinkOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    heartbeat_s: float = 1.0
    """A link that has nothing to say says so this often."""

    silence_s_max: float = 4.0
    """A connection from which nothing has come for so long is given up."""

    progress_s_max: float = 6.0
    """A connection that takes frames, but whose far end has handled none for so long, is reported and given up."""

    greeting_s_max: float = 3.0
    """A connection whose far end has not said who it is by then is given up."""

    neighbours_max: int = 1024
    """A caller that would be one more than so many is turned away for now."""

    ack_delay_s: float = 0.02
    """An acknowledgement waits so long for data to travel with."""

    ack_frames_max: int = 64
    """After so many frames it waits no longer."""

    overdue_s: float = 0.25
    """Where an older frame is not settled for so long, younger ones are reported as settled one by one."""

    overdue_frames_max: int = 1024
    """So many of them at a time."""

    dial_s_min: float = 0.05
    dial_s_max: float = 2.0
    """The wait between two attempts to connect doubles from the one to the other."""

    dial_answer_s_max: float = 10.0
    """An attempt that nobody has answered by then is made again."""

    retransmit_s: float = 0.0
    """On datagrams: send again what was not acknowledged for so long. 0 on streams, which lose nothing."""

    reorder_frames_max: int = 256
    """On datagrams: frames ahead of a missing one that are kept."""

    window_frames: int = 64
    """On datagrams: frames sent again at once."""

    loose: bool = False
    """Events are sent once, in datagrams, and may be lost; ``recovery`` brings them back. All else is sent again."""

    kinds: dict[str, LinkKind] = {}
    """By neighbour, where the link is to be of another kind than ``loose`` says; at both ends alike."""

    datagram_bytes: int = 1400
    """So long a datagram gets with several small events; a longer event has one to itself."""

    outbox_bytes_max: int = 64 * 1024 * 1024
    """What may wait for a neighbour. Beyond it new events are dropped, and each drop is seen in the trace."""

    frame_bytes_target: int = 1024 * 1024
    """A turn's output for a neighbour is split into frames of about this size."""

    @property
    def datagrams(self) -> bool:
        return self.retransmit_s > 0

    @property
    def may_lose(self) -> bool:
        """Whether events may be lost on any link."""
        return self.loose or "datagram" in self.kinds.values()

    def is_loose(self, peer: str) -> bool:
        """Whether events may be lost on the link with this neighbour."""
        kind = self.kinds.get(peer)
        return self.loose if kind is None else kind == "datagram"

    def of(self, peer: str) -> LinkOptions:
        """Those of the link with this neighbour."""
        if not self.kinds:
            return self
        loose = self.is_loose(peer)
        return msgspec.structs.replace(self, loose=loose, retransmit_s=self.retransmit_s if loose else 0.0)
