"""Ports: in a row, for a network whose brokers listen side by side, and until somebody listens there."""

from __future__ import annotations

import random
import socket
import subprocess
import time

from reknit.live.address import Address, free_ports, port_is_free

HERE = "127.0.0.1"


def ports_in_a_row(count: int) -> int:
    """The first of ``count`` ports that are all free now."""
    rng = random.Random()
    while True:
        (port,) = free_ports(HERE, 1, rng)
        if all(port_is_free(Address(HERE, port + place)) for place in range(count)):
            return port


def until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until ``process`` listens there; it must not end before."""
    while True:
        try:
            socket.create_connection((HERE, port)).close()
            return
        except OSError:
            assert process.poll() is None
            time.sleep(0.02)
