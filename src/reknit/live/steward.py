"""The steward of a network: runs it until told to end, and has a door for what no broker can do itself.

The door speaks HTTP with JSON, on loopback, like those of the brokers. Owns: signals, the door's paths, and what they
say. Must not know: how a broker is started and looked after (see ``network``).
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from reknit.live.address import Address, listen
from reknit.live.admin import AdminServer, Json, read_body
from reknit.live.counters import Counters
from reknit.live.errors import ConfigError, LiveError
from reknit.live.network import Network
from reknit.live.plan import NetworkPlan
from reknit.live.statefile import NetworkState

__all__ = ["network_door", "run_network"]

HERE = Address("127.0.0.1", 0)


class AddRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    link: str = ""
    """The broker to be linked with; empty for none."""
    of: str = ""
    """The larger change that this is a step of."""


@contextlib.asynccontextmanager
async def network_door(network: Network) -> AsyncIterator[str]:
    """Inside, the door answers at this URL, which the network's file says, too."""

    async def add(request: Request) -> Response:
        try:
            wanted = msgspec.json.decode(await read_body(request), type=AddRequest)
            added = await network.add(wanted.name, wanted.link, wanted.of)
        except (msgspec.MsgspecError, UnicodeDecodeError, ConfigError) as error:
            return Json({"error": str(error)}, status_code=400)
        except LiveError as error:
            return Json({"error": str(error)}, status_code=409)
        return Json(msgspec.to_builtins(added))

    with listen(HERE, "the network's door") as sock:
        url = f"http://{Address(*sock.getsockname()[:2])}"
        server = AdminServer(Starlette(routes=[Route("/brokers", add, methods=["POST"])]), sock, Counters())
        network.open_door(url)
        try:
            yield url
        finally:
            await server.close()


async def run_network(plan: NetworkPlan, directory: Path, ready: Callable[[NetworkState], None]) -> None:
    """Run until SIGINT or SIGTERM; ``ready`` is called once. ``LiveError`` if it cannot start or go on."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    running = asyncio.create_task(_serve(plan, directory, ready, stop))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        running.cancel()
    try:
        await running
    except asyncio.CancelledError:
        return


async def _serve(
    plan: NetworkPlan, directory: Path, ready: Callable[[NetworkState], None], stop: asyncio.Event
) -> None:
    async with Network(plan, directory) as network, network_door(network):
        ready(network.state)
        try:
            await network.failure()
        finally:
            if stop.is_set():
                _say_ending(len(network.state.brokers))


def _say_ending(count: int) -> None:
    print(f"ending {count} broker{'s' if count != 1 else ''}", file=sys.stderr, flush=True)
