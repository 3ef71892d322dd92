"""All that can be set about a broker; the layers' own options lie with them.

Owns: the values and their defaults. Must not know: who reads them.
"""

from __future__ import annotations

import msgspec

from reknit.core.book.options import BookOptions
from reknit.core.homes.options import HomeOptions
from reknit.core.links.options import LinkOptions
from reknit.core.overlay.options import ChangeOptions, OverlayOptions, RepairOptions
from reknit.core.placement.options import PlacementOptions
from reknit.core.recovery.options import RecoveryOptions
from reknit.core.ring.options import RingOptions
from reknit.core.routing.strategies import RoutingName
from reknit.core.sessions.options import SessionOptions
from reknit.core.shares.options import ShareOptions

__all__ = ["BrokerOptions"]


class BrokerOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    routing: RoutingName = "subscription-forwarding"
    covering: bool = False
    """Tell a neighbour only of patterns that no other covers (subscription-forwarding)."""

    observe: bool = False
    """Report what is seen, for the trace."""

    durable: bool = False
    """Tell the shell what the next life has to know of events, since it keeps that; set where there is a store."""

    founded: bool = False
    """The neighbours given at the start are links of a network that was checked as a whole; no search for cycles."""

    gate_s_max: float = 10.0
    """How long a broker that begins waits for its neighbours' tables; then it routes without the missing ones."""

    held_events_max: int = 100_000
    """Events that may wait for that. Beyond it they are dropped, and each drop is seen in the trace."""

    sources_max: int = 4_096
    """Sources whose last event is remembered, as the guard against copies."""

    links: LinkOptions = LinkOptions()
    overlay: OverlayOptions = OverlayOptions()
    changes: ChangeOptions = ChangeOptions()
    repair: RepairOptions = RepairOptions()
    sessions: SessionOptions = SessionOptions()
    homes: HomeOptions = HomeOptions()
    shares: ShareOptions = ShareOptions()
    book: BookOptions = BookOptions()
    recovery: RecoveryOptions = RecoveryOptions()
    ring: RingOptions = RingOptions()
    placement: PlacementOptions = PlacementOptions()

    def __post_init__(self) -> None:
        if self.recovery.names and (self.covering or self.routing == "flooding"):
            how = "covering" if self.covering else "flooding"
            raise ValueError(f"recovery needs tables that hold every pattern, and {how} hides some")
        if self.routing == "rendezvous":
            self._check_ring()
        elif self.placement.update_s:
            raise ValueError("placement is for brokers that route by rendezvous: on a tree clients stay where they are")

    def _check_ring(self) -> None:
        if self.covering:
            raise ValueError("covering is for subscription-forwarding: on a ring nobody is told of patterns")
        if self.recovery.names or self.links.loose:
            raise ValueError("recovery is for a tree whose links lose events: on a ring they lose none")
        if self.durable:
            raise ValueError("a broker that routes by rendezvous has no store: its next life could tell no copies")
