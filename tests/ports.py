"""Ports for a network whose brokers listen side by side, as ``--mqtt-base-port`` asks for."""

from __future__ import annotations

import random

from reknit.live.address import Address, free_ports, port_is_free

HERE = "127.0.0.1"


def ports_in_a_row(count: int) -> int:
    """The first of ``count`` ports that are all free now."""
    rng = random.Random()
    while True:
        (port,) = free_ports(HERE, 1, rng)
        if all(port_is_free(Address(HERE, port + place)) for place in range(count)):
            return port
