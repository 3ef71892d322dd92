"""The fault proxy: as much harm as told, the same for the same seed, in both directions."""

from __future__ import annotations

import asyncio
from typing import Any

from reknit.live.address import Address
from reknit.live.faults import FaultProxy, Harm, fault_proxy


class _Echo(asyncio.DatagramProtocol):
    """Answers what it gets, and remembers it."""

    def __init__(self, answers: bool) -> None:
        self.answers = answers
        self.got: list[bytes] = []

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.got.append(data)
        if self.answers:
            self.transport.sendto(data, addr)


async def _played(
    harm: Harm, count: int, seed: str = "s", answers: bool = True
) -> tuple[list[bytes], list[bytes], FaultProxy]:
    """What the far end has got, what came back, and the proxy."""
    loop = asyncio.get_running_loop()
    far, echo = await loop.create_datagram_endpoint(lambda: _Echo(answers), local_addr=("127.0.0.1", 0))
    target = Address(*far.get_extra_info("sockname"))
    async with fault_proxy(target, harm, seed) as proxy:
        near, mine = await loop.create_datagram_endpoint(lambda: _Echo(False), remote_addr=proxy.address)
        for number in range(count):
            near.sendto(str(number).encode())
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.2)
        near.close()
    far.close()
    return echo.got, mine.got, proxy


def test_without_harm_all_gets_through_and_back() -> None:
    there, back, proxy = asyncio.run(_played(Harm(), 50))
    assert there == back == [str(number).encode() for number in range(50)]
    assert (proxy.passed, proxy.lost) == (100, 0)


def test_a_share_is_lost_and_the_seed_says_which() -> None:
    """Of those that go there, and of those that come back, however the two mix."""
    one, same, other = (asyncio.run(_played(Harm(loss=0.3), 100, seed)) for seed in ("s", "s", "t"))
    assert 50 < len(one[0]) < 90
    assert 0.5 < len(one[1]) / len(one[0]) < 0.9
    assert one[:2] == same[:2]
    assert one[0] != other[0]
    assert one[2].lost == 100 - len(one[1])


def test_what_becomes_of_one_direction_does_not_hang_on_the_other() -> None:
    alone, both = (asyncio.run(_played(Harm(loss=0.3), 100, answers=answers)) for answers in (False, True))
    assert alone[0] == both[0]
    assert alone[1] == []


def test_some_are_doubled() -> None:
    there, _, _ = asyncio.run(_played(Harm(duplication=0.5), 60))
    assert 70 < len(there) < 110
    assert len(set(there)) == 60


def test_some_overtake_each_other() -> None:
    there, _, _ = asyncio.run(_played(Harm(delay_s_max=0.05), 40))
    assert sorted(there) == sorted(str(number).encode() for number in range(40))
    assert there != sorted(there, key=int)


def test_a_black_hole_swallows_all() -> None:
    there, back, proxy = asyncio.run(_played(Harm(black_hole=True), 20))
    assert there == back == []
    assert proxy.lost == 20
