"""What can be set about a ring.

Owns: the values and their defaults. Must not know: who reads them.
"""

from __future__ import annotations

import msgspec

from reknit.model.ring import BITS
from reknit.wire.ring import SPOTS_MAX

__all__ = ["RingOptions"]


class RingOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: int | None = None
    """Where this broker is on the ring when it begins for the first time; without one, its name says where."""

    successors_max: int = 8
    """Brokers behind oneself that are known: the ring stays whole while one of them lives. About twice log2 of all."""

    stabilise_s: float = 0.5
    """How often the successor is asked who is before it."""

    fingers_per_round: int = 4
    """Fingers that are looked up anew in each such round."""

    answer_s_max: float = 10.0
    """A successor that has not answered for so long is taken for dead. Links notice most deaths sooner."""

    audit_s: float = 5.0
    """How often a contact is asked who is behind oneself: so rings that were parted find each other."""

    hops_max: int = 160
    """Of a word that looks for its owner, while the ring changes; then it is dropped, and said again later."""

    refresh_s: float = 1.0
    """How often it is said again that a topic is wanted, or wanted no more, while the tree does not show it."""

    lost_s: float = 3.0
    """A broker to which there has been no connection for so long is lost: ways lead round it."""

    alone_s: float = 10.0
    """Who has heard nobody for so long is a ring by itself, until it finds the others."""

    handover_s: float = 12.0
    """A new root that nobody hands topics to waits so long for those who want them: longer than it goes unseen that a
    broker has died, or that it takes frames and handles none (``links.progress_s_max``), and until it is said anew."""

    order_s_max: float = 40.0
    """An event waits so long for the one before it, from the same source and of the same topic: while several die."""

    fresh_s: float = 10.0
    """A topic is new to a broker for so long: an event that is missing may have been there before it was wanted."""

    lease_s: float = 10.0
    """A broker that has heard nothing of the manager for so long lets a planned change go that is not over."""

    step_s_max: float = 30.0
    """A step of a planned change that some broker has not done by then is given up, and the change with it."""

    grace_s: float = 10.0
    """The old version of the control plane is kept for so long after a planned change: longer than any event's way."""

    free_s: float = 0.0
    """A better way to place the brokers is looked for so often, by the one that manages the ring; 0: never."""

    report_s: float = 5.0
    """How often a broker tells the manager what its clients want and publish, where a better way is looked for."""

    delay_weight: float = 1.0
    """What a hop of delay counts beside a message that is relayed in vain, when a better way is looked for."""

    lines_max: int = 65_536
    """Sources and topics of which the last number is remembered."""

    def __post_init__(self) -> None:
        if self.id is not None and not 0 <= self.id < 1 << BITS:
            raise ValueError(f"id: from 0 to {(1 << BITS) - 1}, not {self.id}")
        if not 1 <= self.successors_max <= SPOTS_MAX:
            raise ValueError(f"successors_max: from 1 to {SPOTS_MAX}, not {self.successors_max}")
        if self.fingers_per_round < 1 or self.hops_max < 1:
            raise ValueError("fingers_per_round and hops_max: at least 1")
        times = [each for each in self.__struct_fields__ if each.endswith(("_s", "_s_max"))]
        if wrong := [name for name in times if getattr(self, name) <= 0 and name != "free_s"]:
            raise ValueError(f"{', '.join(wrong)}: more than 0")
        if self.free_s < 0 or self.delay_weight < 0:
            raise ValueError("free_s and delay_weight: not less than 0")
        if self.lines_max < 1:
            raise ValueError("lines_max: at least 1")

    @property
    def way_s_max(self) -> float:
        """An event whose root dies comes within so long: once that is seen, and its next root knows enough."""
        return self.fresh_s + self.lost_s + self.handover_s
