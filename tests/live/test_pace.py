"""The pace of turns: the middle of the last ones, and that a broker at work has one."""

from __future__ import annotations

import asyncio

from reknit.client import connect
from reknit.live.address import Address
from reknit.live.pace import EVERY, SAMPLES_MAX, Pace
from reknit.live.process import BrokerPlan, broker_running

ANY = Address("127.0.0.1", 0)


def test_the_middle_one() -> None:
    pace = Pace()
    assert pace.p50_s is None
    for seconds in (9.0, 1.0, 2.0):
        pace.add(seconds)
    assert pace.p50_s == 2.0
    for _ in range(SAMPLES_MAX):
        pace.add(0.5)
    assert pace.p50_s == 0.5


def test_a_broker_at_work_has_one_and_says_what_waits() -> None:
    async def run() -> None:
        async with broker_running(BrokerPlan("b1", ANY, ANY)) as broker, connect(*broker.mqtt) as client:
            assert broker.driver.count()["turn_p50_s"] is None
            for _ in range(3 * EVERY):
                await client.publish("t", b"", qos=1)
            counted = broker.driver.count()
            assert 0 < counted["turn_p50_s"] < 1
            assert counted["queued"] == 0

    asyncio.run(run())
