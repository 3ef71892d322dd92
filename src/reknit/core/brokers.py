"""The kinds of brokers by the name of their routing.

Owns: the choice. Must not know: what they do otherwise.
"""

from __future__ import annotations

import random
from typing import Any

from reknit.core.broker import Broker
from reknit.core.options import BrokerOptions
from reknit.core.ring_broker import RingBroker

__all__ = ["make_broker"]


def make_broker(
    name: str, incarnation: int, options: BrokerOptions, rng: random.Random, *given: Any, **more: Any
) -> Broker:
    """``given``, ``more``: as ``Broker`` takes them."""
    kind = RingBroker if options.routing == "rendezvous" else Broker
    return kind(name, incarnation, options, rng, *given, **more)
