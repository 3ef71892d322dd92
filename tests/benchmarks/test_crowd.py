"""The crowd's ears: each kind of fault is seen, and nothing else; bytes may be cut anywhere."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict
from json import dumps, loads
from pathlib import Path

import pytest

from bench.crowd import WHOLE, Crowd, Ear, packet
from bench.peers import relay


def heard(*numbers: int, sent: int = 0) -> tuple[int, int, int, int]:
    """Received, lost, doubled and out of order, of one publisher's events."""
    ear = Ear(1)
    for number in numbers:
        ear.hear(packet(0, number, 1.0), 1.5)
    return ear.received, ear.lost([sent or max(numbers)]), ear.duplicated, ear.out_of_order


@pytest.mark.parametrize(
    ("numbers", "sent", "found"),
    [
        ((1, 2, 3), 3, (3, 0, 0, 0)),
        ((1, 3), 3, (2, 1, 0, 0)),
        ((1, 2), 4, (2, 2, 0, 0)),
        ((1, 2, 2, 3), 3, (4, 0, 1, 0)),
        ((1, 3, 2, 4), 4, (4, 0, 0, 1)),
        ((1, 3, 2, 2), 3, (4, 0, 1, 1)),
        ((0, 1, 0, 2), 2, (2, 0, 0, 0)),
    ],
)
def test_each_fault_is_seen(numbers: tuple[int, ...], sent: int, found: tuple[int, int, int, int]) -> None:
    assert heard(*numbers, sent=sent) == found


def test_publishers_are_told_apart_and_bytes_may_be_cut_anywhere() -> None:
    data = b"".join(packet(number % 2, number // 2 + 1, 1.0) for number in range(10))
    assert len(data) == 10 * WHOLE.size
    for cut in range(len(data)):
        ear = Ear(2)
        ear.hear(data[:cut], 2.0)
        ear.hear(data[cut:], 2.0)
        assert (ear.received, ear.lost([5, 5]), ear.duplicated, ear.out_of_order) == (10, 0, 0, 0)
        assert list(ear.delays) == [1.0, 1.0] * 10


def test_a_crowd_hears_all_that_it_says(tmp_path: Path) -> None:
    with relay() as peer:
        crowd = Crowd([peer.publish_port], 3, 500, str(tmp_path / "delays"))
        words = [sys.executable, "-m", "bench.crowd", dumps(asdict(crowd))]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            process.stdin.close()
            said = loads(process.stdout.readline())
    assert said["received"] == said["owed"] == 3 * said["sent"]
    assert (said["lost"], said["duplicated"], said["out_of_order"]) == (0, 0, 0)
    assert (tmp_path / "delays").stat().st_size == said["received"] * 16
