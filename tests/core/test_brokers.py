from __future__ import annotations

import random

import pytest

from reknit.core.broker import Broker
from reknit.core.brokers import make_broker
from reknit.core.options import BrokerOptions
from reknit.core.ring_broker import RingBroker


@pytest.mark.parametrize(("routing", "kind"), [("rendezvous", RingBroker), ("flooding", Broker)])
def test_the_name_of_the_routing_decides(routing: str, kind: type[Broker]) -> None:
    made = make_broker("b", 1, BrokerOptions(routing=routing), random.Random(1))  # type: ignore[arg-type]
    assert type(made) is kind
