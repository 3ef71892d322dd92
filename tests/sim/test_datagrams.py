"""Datagrams between addresses, and what can go wrong with them."""

from __future__ import annotations

import random

from reknit.sim.datagrams import Datagrams
from reknit.sim.kernel import Kernel
from reknit.sim.network import NetworkOptions


def carried(options: NetworkOptions, count: int) -> tuple[Datagrams, list[tuple[str, str, bytes]]]:
    kernel, came = Kernel(), []
    network = Datagrams(kernel, options, random.Random(1), lambda *given: came.append(given))
    for number in range(count):
        network.send("a", "b", b"%d" % number)
    kernel.run()
    return network, came


def test_all_arrive_and_overtake_each_other() -> None:
    network, came = carried(NetworkOptions(), 100)
    numbers = [int(frame) for _, _, frame in came]
    assert sorted(numbers) == list(range(100)) != numbers
    assert came[0][:2] == ("b", "a")
    assert (network.traffic.frames, network.traffic.bytes) == (100, 190)


def test_some_are_lost_and_some_are_doubled() -> None:
    network, came = carried(NetworkOptions(loss=0.2, duplication=0.1), 2_000)
    assert 300 < network.traffic.lost < 500
    assert 100 < network.traffic.duplicated < 220
    assert len(came) == 2_000 - network.traffic.lost + network.traffic.duplicated


def test_nothing_gets_from_one_side_to_another_until_that_is_healed() -> None:
    kernel, came = Kernel(), []
    network = Datagrams(kernel, NetworkOptions(), random.Random(1), lambda to, *_: came.append(to))
    network.split(["a", "b"], ["c"])
    for to in ("b", "c", "d"):
        network.send("a", to, b"")
    network.send("d", "e", b"")
    network.heal()
    network.send("a", "c", b"")
    kernel.run()
    assert sorted(came) == ["b", "c", "e"]
