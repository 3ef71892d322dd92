"""Gaps as the Python client tells them: read from what a broker says, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import reknit
from reknit.client.event import Event
from reknit.client.gaps import Gap, read_gap
from reknit.core.broker import BrokerOptions
from reknit.core.io import Missed
from reknit.core.recovery.options import RecoveryOptions
from reknit.live.address import Address
from reknit.live.config import Settings
from reknit.live.process import BrokerPlan, broker_running
from reknit.model.pattern import Pattern
from reknit.mqtt.bulletin import gap_event

A = Pattern.parse("a", "x > 3")


def _event(payload: bytes) -> Event:
    return Event(topic="$reknit/gaps/missing", payload=payload, attributes={})


def test_what_a_broker_says_is_read_as_a_value() -> None:
    said = gap_event(Missed(("ann",), A, "b1.1", 3, 5, "given up"))
    assert said.topic == "$reknit/gaps/given-up"
    assert read_gap(_event(said.payload)) == Gap("b1.1", "a", 3, 5, "given up", "x > 3")


def test_anything_else_is_no_gap() -> None:
    for payload in (b"", b"[]", b"{}", b"1", b'{"source": "b"}', b"\xff"):
        assert read_gap(_event(payload)) is None


def test_a_client_hears_of_its_own_gaps_only() -> None:
    """Another one that wants to know, but does not want the pattern, hears nothing."""
    options = BrokerOptions(recovery=RecoveryOptions(algorithm="combined"))
    here = Address("127.0.0.1", 0)
    plan = BrokerPlan(name="b1", mqtt=here, listen=here, settings=Settings(options=options))

    async def first(gaps: Any) -> Gap:
        return await anext(aiter(gaps))

    async def play() -> None:
        async with (
            broker_running(plan) as broker,
            reknit.connect(*broker.mqtt, client_id="ann") as ann,
            reknit.connect(*broker.mqtt, client_id="ben") as ben,
            ann.subscribe("a"),
            ann.gaps() as hers,
            ben.gaps() as his,
        ):
            driver = broker.driver
            for state in ("missing", "recovered"):
                driver._perform([Missed(("ann", "gone"), Pattern.parse("a"), "s.1", 4, 4, state)], 0.0)  # type: ignore[arg-type]
            driver._finish()
            assert await first(hers) == Gap("s.1", "a", 4, 4)
            assert await first(hers) == Gap("s.1", "a", 4, 4, "recovered")
            driver._perform([Missed(("ben",), Pattern.parse("b"), "s.1", 1, 2, "missing")], 0.0)
            driver._finish()
            assert await first(his) == Gap("s.1", "b", 1, 2)
            assert not any(each["topic"].startswith("$") for each in driver.broker.table()["entries"])

    asyncio.run(play())
