"""Ports: in a row, for a network whose brokers listen side by side, and until somebody listens there."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import time

from reknit.live.address import Address, port_is_free

HERE = "127.0.0.1"
ROWS_FIRST = 15100
ROWS_PER_WORKER = 600
"""Rows are below all that a network chooses by itself, and each worker of the suite has its own part;
those of two suites at once begin at different places of it, mostly."""

_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 8
_offsets = itertools.islice(itertools.cycle(range(ROWS_PER_WORKER)), os.getpid() * 7 % ROWS_PER_WORKER, None)


def ports_in_a_row(count: int) -> int:
    """The first of ``count`` ports that are all free now, and that nobody is shown again soon."""
    while True:
        row = [next(_offsets) for _ in range(count)]
        first = ROWS_FIRST + _worker * ROWS_PER_WORKER + row[0]
        if row[-1] - row[0] == count - 1 and all(port_is_free(Address(HERE, first + place)) for place in range(count)):
            return first


def until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until ``process`` listens there; it must not end before."""
    while True:
        try:
            socket.create_connection((HERE, port)).close()
            return
        except OSError:
            assert process.poll() is None
            time.sleep(0.02)
