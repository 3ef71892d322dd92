"""``reknit replay``: a stream of subscriptions, into the network that runs here or into the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reknit.cli._problem import BadInput, Failed
from reknit.cli.pipeline import progress

if TYPE_CHECKING:
    from reknit.client.replay import Pace
    from reknit.core.routing.strategies import RoutingName

__all__ = ["register", "replay"]

ROUTING: RoutingName = "subscription-forwarding"
SETTLE_S_MAX = 600.0
"""Of the simulator's time, until all is calm."""


def register(app: typer.Typer) -> None:
    app.command("replay", short_help="Play a stream of subscriptions into a network.")(replay)


def replay(
    stream: Annotated[str, typer.Argument(metavar="DIR", help="The table `stream` of the flow subscriptions.")],
    speed: Annotated[
        float, typer.Option(min=0.0, help="How many times as fast as it was; 0: as fast as it goes.")
    ] = 3600.0,
    broker: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=HOST:PORT", help="Its MQTT door; else as in this directory."),
    ] = None,
    hold: Annotated[float, typer.Option(min=0.0, metavar="SECONDS", help="Let clients stay at the end.")] = 0.0,
    clients: Annotated[int, typer.Option(min=1, help="How many connections there may be.")] = 1000,
    changes: Annotated[int, typer.Option(min=0, help="Play so many changes and no more; 0: all.")] = 0,
    sim: Annotated[bool, typer.Option("--sim", help="Into the simulator, and judge its tables.")] = False,
    shape: Annotated[str, typer.Option(metavar="line|star|random|bushy", help="With --sim: of the tree.")] = "random",
    seed: Annotated[int, typer.Option(help="With --sim.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Play subscriptions as they come and go: each at its time, at any speed.

    In a live network each client of the stream has a connection to its broker, and what comes for it is counted. In the
    simulator the brokers of the stream are a tree, and when all has come to rest every table must be ideal: exit code
    1 if one is not.

    Example: reknit replay out/pipeline/subscriptions/stream --speed 86400
    """
    from itertools import islice

    from reknit.client.replay import Pace
    from reknit.trace.wishes import read_wishes

    wishes = islice(read_wishes(stream), changes or None)
    with progress() as tell:
        if sim:
            said = _simulate(stream, wishes, speed, shape, seed, tell)
        else:
            said = _play(wishes, _addresses(broker or []), Pace(speed, hold, clients), tell)
    _print(said, as_json)
    if said.get("problems"):
        raise Failed(f"replay: {said['problems'][0]}")


def _print(said: dict[str, Any], as_json: bool) -> None:
    import json

    if as_json:
        typer.echo(json.dumps(said, indent=2))
        return
    for name, value in said.items():
        if name != "problems":
            shown = f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if isinstance(value, float) else value
            typer.echo(f"{name.replace('_', ' ')}: {shown}")


# --- live


def _addresses(given: list[str]) -> dict[str, tuple[str, int]]:
    from reknit.cli._operator import find_state
    from reknit.live.address import parse_address

    named = {each.name: each.mqtt for each in find_state().brokers} if not given else {}
    for word in given:
        name, sign, place = word.partition("=")
        if not (name and sign and place):
            raise BadInput(f"--broker {word}: write it as NAME=HOST:PORT")
        named[name] = place
    found = {name: parse_address(place) for name, place in named.items()}
    return {name: (each.host, each.port) for name, each in found.items()}


def _play(wishes: Any, addresses: Mapping[str, tuple[str, int]], pace: Pace, tell: Any) -> dict[str, Any]:
    import asyncio
    from dataclasses import asdict

    from reknit.client.errors import ClientError
    from reknit.client.replay import Played
    from reknit.client.replay import replay as play

    def say(played: Played) -> None:
        tell(f"{played.changes:,} changes, {played.clients:,} clients, {played.behind_s_max:.2f} s behind at most")

    try:
        return asdict(asyncio.run(play(addresses, wishes, pace, say)))
    except ClientError as error:
        raise Failed(f"replay: {error}") from error


# --- the simulator


def _simulate(stream: str, wishes: Any, speed: float, shape: str, seed: int, tell: Any) -> dict[str, Any]:
    import random

    from reknit.core.overlay.shapes import SHAPES, shape_edges
    from reknit.lab.scenarios import quiet_options
    from reknit.sim.checkers.tables import check_tables
    from reknit.sim.checkers.wishes import check_wishes
    from reknit.sim.cluster import Cluster
    from reknit.sim.network import NetworkOptions
    from reknit.sim.replay import replay as play
    from reknit.trace.wishes import brokers_of

    if shape not in SHAPES:
        raise BadInput(f"--shape {shape}: there are {', '.join(SHAPES)}")
    names = brokers_of(stream)
    edges = shape_edges(shape, names, random.Random(f"{seed}/replay"))
    cluster = Cluster(edges, quiet_options(ROUTING), NetworkOptions(), f"{seed}/replay")
    if len(names) == 1:
        cluster.add_node(names[0])
    cluster.start_all()
    if not cluster.settle(SETTLE_S_MAX):
        raise Failed(f"replay: the simulated network has not come to rest: {cluster.restlessness()}")
    frames = _Frames()
    cluster.sent = frames.count
    done = play(cluster, wishes, speed, lambda count: tell(f"{count:,} changes"))
    calm = cluster.settle(SETTLE_S_MAX)
    problems = [] if calm else [f"it has not come to rest: {cluster.restlessness()}"]
    problems += [each.what for each in check_wishes(cluster.records, done.wanted)]
    problems += [each.what for each in check_tables(cluster.records, ROUTING, False)]
    return {
        "subscribes": done.subscribes,
        "unsubscribes": done.unsubscribes,
        "clients": len(done.wanted),
        "brokers": len(names),
        "frames": frames.sent,
        "bytes": frames.size,
        "time_s": cluster.kernel.now,
        "problems": problems,
    }


class _Frames:
    """What went over links."""

    def __init__(self) -> None:
        self.sent = 0
        self.size = 0

    def count(self, sender: str, receiver: str, frame: bytes) -> None:
        self.sent += 1
        self.size += len(frame)
