"""What can be set about a ring.

Owns: the values and their defaults. Must not know: who reads them.
"""

from __future__ import annotations

import msgspec

from reknit.wire.ring import SPOTS_MAX

__all__ = ["RingOptions"]


class RingOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    successors_max: int = 8
    """Brokers behind oneself that are known: the ring stays whole while one of them lives. About twice log2 of all."""

    stabilise_s: float = 0.5
    """How often the successor is asked who is before it."""

    fingers_per_round: int = 4
    """Fingers that are looked up anew in each such round."""

    answer_s_max: float = 2.0
    """A successor that has not answered for so long is taken for dead; a request to join is said again."""

    audit_s: float = 5.0
    """How often a contact is asked who is behind oneself: so rings that were parted find each other."""

    hops_max: int = 160
    """Of a word that looks for its owner, while the ring changes; then it is dropped, and said again later."""

    refresh_s: float = 1.0
    """How often it is said again that a topic is wanted, or wanted no more, while the tree does not show it."""

    def __post_init__(self) -> None:
        if not 1 <= self.successors_max <= SPOTS_MAX:
            raise ValueError(f"successors_max: from 1 to {SPOTS_MAX}, not {self.successors_max}")
        if self.fingers_per_round < 1 or self.hops_max < 1:
            raise ValueError("fingers_per_round and hops_max: at least 1")
        if min(self.stabilise_s, self.answer_s_max, self.audit_s, self.refresh_s) <= 0:
            raise ValueError("stabilise_s, answer_s_max, audit_s and refresh_s: more than 0")
