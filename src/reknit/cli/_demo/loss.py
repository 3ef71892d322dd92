"""Two brokers whose link loses a fifth of all datagrams: what is missing is told, and comes back in its place.

Owns: the order of things, and what is counted. Must not know: how it is shown.

Each broker is a process; between them stands a proxy that loses datagrams, by seed, from the moment that the wish of
the subscriber is known at the other end. It asks for order, and to be told of gaps.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from reknit.cli._problem import Failed
from reknit.client import Client, Gap, connect
from reknit.live.address import Address, free_ports
from reknit.live.faults import FaultProxy, Harm, fault_proxy

__all__ = ["LossOutcome", "LossScript", "play_loss"]

HOST = "127.0.0.1"
LOSS = 0.2
EVENTS_PER_S = 200.0
ORDER_S = 5.0
"""How long an event waits for an earlier one at most."""
READY_S_MAX = 30.0
ARRIVE_S_MAX = 20.0
SURPLUS_S = 0.5
POLL_S = 0.05
TOPIC = "readings/boiler"

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LossScript:
    seed: int
    events: int
    directory: Path


@dataclass(slots=True)
class LossOutcome:
    published: int = 0
    got: list[int] = field(default_factory=list)
    """Their numbers, as they came."""
    datagrams_lost: int = 0
    missing: int = 0
    """Events of which the subscriber was told that they are missing."""
    recovered: int = 0
    given_up: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    """Set with whatever comes."""

    @property
    def out_of_order(self) -> int:
        return sum(later < earlier for earlier, later in zip(self.got, self.got[1:], strict=False))

    @property
    def settled(self) -> bool:
        """All has come, or is known not to."""
        return len(self.got) >= self.published and self.missing <= self.recovered + self.given_up

    @property
    def clean(self) -> bool:
        return self.got == list(range(self.published)) and self.missing == self.recovered and not self.given_up

    def told(self) -> dict[str, int]:
        """In numbers."""
        counts = {"clean": int(self.clean), "published": self.published, "delivered": len(self.got)}
        counts |= {"out_of_order": self.out_of_order, "datagrams_lost": self.datagrams_lost}
        return counts | {"missing": self.missing, "recovered": self.recovered, "given_up": self.given_up}


async def play_loss(script: LossScript, tell: Tell) -> LossOutcome:
    outcome = LossOutcome()
    ports = free_ports(HOST, 6)
    b1, b2 = ports[:3], ports[3:]
    async with (
        fault_proxy(Address(HOST, b1[1]), Harm(), f"{script.seed}") as proxy,
        contextlib.AsyncExitStack() as undo,
    ):
        _start(script.directory, "b1", b1, proxy, undo)
        _start(script.directory, "b2", b2, proxy, undo)
        await _until(b1[2], lambda table: bool(table["neighbours"].get("b2", {}).get("up")))
        tell(f"b1 and b2 are linked by datagrams, through a proxy that will lose {LOSS:.0%} of them, both ways")
        async with connect(HOST, b1[0]) as writer, connect(HOST, b2[0]) as reader, _listening(reader, outcome):
            await _until(b1[2], lambda table: any(each["topic"] == TOPIC for each in table["entries"]))
            await _flow(script, writer, proxy, outcome)
    told = f"{outcome.missing} events were missed, and the subscriber told; {outcome.recovered} came back"
    tell(f"{outcome.datagrams_lost} datagrams lost; {told}, {outcome.given_up} were given up")
    tell(f"{len(outcome.got)} of {outcome.published} events delivered, {outcome.out_of_order} out of order")
    return outcome


async def _flow(script: LossScript, writer: Client, proxy: FaultProxy, outcome: LossOutcome) -> None:
    proxy.harm = Harm(loss=LOSS)
    for number in range(script.events):
        await writer.publish(TOPIC, str(number))
        outcome.published += 1
        await asyncio.sleep(1 / EVENTS_PER_S)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(ARRIVE_S_MAX):
            while not outcome.settled:
                await outcome.news.wait()
                outcome.news.clear()
    await asyncio.sleep(SURPLUS_S)  # for what should not come
    outcome.datagrams_lost = proxy.lost


@contextlib.asynccontextmanager
async def _listening(reader: Client, outcome: LossOutcome) -> AsyncIterator[None]:
    async with reader.gaps() as gaps, reader.subscribe(TOPIC, order_s=ORDER_S) as events:

        async def take_events() -> None:
            async for event in events:
                outcome.got.append(int(event.payload))
                outcome.news.set()

        async def take_gaps() -> None:
            async for gap in gaps:
                _count(gap, outcome)
                outcome.news.set()

        tasks = [asyncio.create_task(each) for each in (take_events(), take_gaps())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _count(gap: Gap, outcome: LossOutcome) -> None:
    events = gap.last - gap.first + 1
    match gap.state:
        case "missing":
            outcome.missing += events
        case "recovered":
            outcome.recovered += events
        case "given up":
            outcome.given_up += events


def _start(directory: Path, name: str, ports: list[int], proxy: FaultProxy, undo: contextlib.AsyncExitStack) -> None:
    """A broker ends when the pipe to it is closed, whatever becomes of us."""
    other = "b2" if name == "b1" else "b1"
    mqtt, listen, admin = ports
    path = directory / f"{name}.toml"
    known_at = f'known_at = "{proxy.address}"\n' if name == "b1" else ""
    neighbour = f'[neighbours]\n{other} = "{proxy.address}"\n' if name == "b2" else f'[neighbours]\n{other} = ""\n'
    path.write_text(
        f'[broker]\nname = "{name}"\nmqtt = "{HOST}:{mqtt}"\nlisten = "{HOST}:{listen}"\nadmin = "{HOST}:{admin}"\n'
        f"{known_at}[options]\nfounded = true\n[options.links]\nretransmit_s = 0.1\n"
        f'kinds = {{ {other} = "datagram" }}\n'
        f'[options.recovery]\nalgorithm = "auto"\nhold_s_max = 0.4\nheartbeat_s = 0.2\n{neighbour}',
        encoding="utf-8",
    )
    words = [sys.executable, "-m", "reknit", "broker", "--config", str(path), "--until-stdin-closes"]
    process = undo.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL))
    assert process.stdin is not None
    undo.callback(process.stdin.close)


async def _until(admin: int, true: Callable[[dict[str, Any]], bool]) -> None:
    """Of what the broker with this door tells operators."""
    async with httpx.AsyncClient(trust_env=False) as http:
        try:
            async with asyncio.timeout(READY_S_MAX):
                while True:
                    with contextlib.suppress(httpx.HTTPError):
                        if true((await http.get(f"http://{HOST}:{admin}/table")).json()):
                            return
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise Failed(f"the brokers were not ready within {READY_S_MAX:g} s") from None
