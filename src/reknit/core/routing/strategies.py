"""The routing strategies by name."""

from __future__ import annotations

from typing import Literal, TypeAlias

from reknit.core.routing.base import Routing, Sender
from reknit.core.routing.flooding import Flooding
from reknit.core.routing.global_table import GlobalTable
from reknit.core.routing.rendezvous import Rendezvous
from reknit.core.routing.subscription_forwarding import SubscriptionForwarding
from reknit.core.turn import Turn

__all__ = ["RoutingName", "make_routing"]

RoutingName: TypeAlias = Literal["subscription-forwarding", "global-table", "flooding", "rendezvous"]


def make_routing(name: RoutingName, covering: bool, turn: Turn, send: Sender) -> Routing:
    if name == "subscription-forwarding":
        return SubscriptionForwarding(turn, send, covering)
    if name == "global-table":
        return GlobalTable(turn, send)
    if name == "rendezvous":
        return Rendezvous(turn, send)
    return Flooding(turn, send)
